#pragma once

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "fd.h"

namespace web {

/// Takes ownership of the descriptor that a call returned. Throws std::system_error naming the call
/// if it failed.
inline Fd owned(int descriptor, const char* call) {
    if (descriptor < 0) {
        throw std::system_error(errno, std::generic_category(), call);
    }
    return Fd(descriptor);
}

#ifdef SOCK_NONBLOCK

/// A non-blocking stream socket that other programs do not inherit: O_NONBLOCK and FD_CLOEXEC.
/// Throws std::system_error. See socket(2).
inline Fd nonblocking_socket(int family) {
    return owned(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
}

/// The next client's socket, with the same two flags. Throws std::system_error. See accept4(2).
inline Fd accept_nonblocking(const Fd& listener) {
    return owned(::accept4(listener.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC),
                 "accept4");
}

#else  // macOS

inline Fd made_nonblocking(Fd socket) {
    const int flags = ::fcntl(socket.number(), F_GETFL);
    if (flags < 0 || ::fcntl(socket.number(), F_SETFL, flags | O_NONBLOCK) < 0 ||
        ::fcntl(socket.number(), F_SETFD, FD_CLOEXEC) < 0) {
        throw std::system_error(errno, std::generic_category(), "fcntl");
    }
    return socket;
}

inline Fd nonblocking_socket(int family) {
    return made_nonblocking(owned(::socket(family, SOCK_STREAM, 0), "socket"));
}

inline Fd accept_nonblocking(const Fd& listener) {
    return made_nonblocking(owned(::accept(listener.number(), nullptr, nullptr), "accept"));
}

#endif

}  // namespace web
