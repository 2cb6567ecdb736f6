#include "socket_system.h"

namespace web {

Fd open_listener(int family) {
    return Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

// TODO(4.2): SO_REUSEPORT (socket(7)) lets several listeners share one port.
// SO_RCVTIMEO limits accept(2) too: socket(7).
Fd accept_within_slice(const Fd& listener) {
    return Fd(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
}

}  // namespace web
