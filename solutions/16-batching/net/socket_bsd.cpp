#include <fcntl.h>

#include "socket_system.h"

namespace web {
namespace {

void set_non_blocking(const Fd& socket) {
    const int flags = ::fcntl(socket.number(), F_GETFL);
    ::fcntl(socket.number(), F_SETFL, flags | O_NONBLOCK);
}

// FreeBSD's SO_REUSEPORT_LB balances clients over listeners. Plain SO_REUSEPORT does so on
// DragonFly, where we do not use it; elsewhere it gives every client to one listener. Without
// balancing, the threads share a single listener.
#ifdef SO_REUSEPORT_LB
constexpr int share_option = SO_REUSEPORT_LB;
#else
constexpr int share_option = 0;
#endif

}  // namespace

const bool can_share_port = share_option != 0;

bool share_port(const Fd& socket) {
    const int on = 1;
    return ::setsockopt(socket.number(), SOL_SOCKET, share_option, &on, sizeof on) == 0;
}

Fd open_listener(int family) {
    Fd socket(::socket(family, SOCK_STREAM, 0));
    if (socket.number() >= 0) set_non_blocking(socket);
    return socket;
}

// Not all of these systems have accept4(2), but all let a client inherit the listener's flag.
Fd accept_non_blocking(const Fd& listener, sockaddr_storage& from) {
    socklen_t size = sizeof from;
    return Fd(::accept(listener.number(), reinterpret_cast<sockaddr*>(&from), &size));
}

}  // namespace web
