#include <fcntl.h>
#include <poll.h>

#include <cerrno>

#include "socket.h"
#include "socket_system.h"

namespace web {
namespace {

void set_blocking(const Fd& socket, bool blocking) {
    const int flags = ::fcntl(socket.number(), F_GETFL);
    ::fcntl(socket.number(), F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

}  // namespace

// TODO(4.2): only FreeBSD's SO_REUSEPORT_LB spreads clients over sockets. On the other systems let
// the threads accept from duplicates (dup(2)) of one listener.
// Non-blocking, in case a client that poll(2) reported disconnects before accept(2).
Fd open_listener(int family) {
    Fd socket(::socket(family, SOCK_STREAM, 0));
    if (socket.number() >= 0) set_blocking(socket, false);
    return socket;
}

// SO_RCVTIMEO does not affect accept(2) here, so poll(2) waits. Clients inherit the listener's
// non-blocking flag, so they are made blocking again.
Fd accept_within_slice(const Fd& listener) {
    pollfd waiting{listener.number(), POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(wait_slice.count())) <= 0) {
        errno = EAGAIN;
        return Fd();
    }
    Fd client(::accept(listener.number(), nullptr, nullptr));
    if (client.number() >= 0) set_blocking(client, true);
    return client;
}

}  // namespace web
