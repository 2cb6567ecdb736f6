#pragma once  // TODO(lab-small-recipes): don't wait for the peer

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
    Fd socket = owned(::socket(peer.sin_family, SOCK_STREAM, 0), "socket");
    const auto* address = reinterpret_cast<const sockaddr*>(&peer);
    if (::connect(socket.number(), address, sizeof(peer)) != 0) {
        return std::unexpected(std::error_code(errno, std::generic_category()));
    }
    return socket;
}

/// The result of connecting, once the socket can be written to: no error if it is connected. Call
/// it only once.
inline std::error_code connected(const Fd&) {
    return {};
}

}  // namespace web
