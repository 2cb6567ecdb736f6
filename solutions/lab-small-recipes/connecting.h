#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <expected>
#include <system_error>

#include "nonblocking.h"

namespace web {

/// Returns a socket that is being connected, or the error if it is known at once. Watch the socket
/// until it can be written to, and then call connected(). Throws std::system_error if no socket can
/// be created.
inline std::expected<Fd, std::error_code> begin_connecting(const sockaddr_in& peer) {
    Fd socket = nonblocking_socket(peer.sin_family);
    const auto* address = reinterpret_cast<const sockaddr*>(&peer);
    if (::connect(socket.number(), address, sizeof(peer)) != 0 && errno != EINPROGRESS) {
        return std::unexpected(std::error_code(errno, std::generic_category()));
    }
    return socket;
}

/// The result of connecting, once the socket can be written to: no error if it is connected. Call
/// it only once; see EINPROGRESS in connect(2), and SO_ERROR in socket(7).
inline std::error_code connected(const Fd& socket) {
    int error = 0;
    socklen_t size = sizeof(error);
    if (::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        error = errno;
    }
    return {error, std::generic_category()};
}

}  // namespace web
