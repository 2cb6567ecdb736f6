#include "socket_system.h"

namespace web {

Fd open_listener(int family) {
    return Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

// SO_RCVTIMEO limits accept(2) too: socket(7).
Fd accept_within_slice(const Fd& listener, sockaddr* address, socklen_t* size) {
    return Fd(::accept4(listener.number(), address, size, SOCK_CLOEXEC));
}

}  // namespace web
