#include "socket_system.h"

namespace web {

Fd open_listener(int family) {
    return Fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

const bool can_share_port = true;

// SO_REUSEPORT (socket(7)): each listener has its own queue, and a hash of the client's address
// selects one.
bool share_port(const Fd& socket) {
    const int on = 1;
    return ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0;
}

Fd accept_non_blocking(const Fd& listener, sockaddr_storage& from) {
    socklen_t size = sizeof from;
    return Fd(::accept4(listener.number(), reinterpret_cast<sockaddr*>(&from), &size,
                        SOCK_NONBLOCK | SOCK_CLOEXEC));
}

}  // namespace web
