#include "socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace web {
namespace {

IoError last_error() {
    const bool not_now = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return not_now ? IoError::would_block : IoError::failed;
}

std::expected<std::size_t, IoError> result(ssize_t count) {
    if (count < 0) return std::unexpected(last_error());
    return static_cast<std::size_t>(count);
}

}  // namespace

std::uint16_t local_port(const Fd& socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &size) < 0) {
        throw std::system_error(errno, std::generic_category(), "getsockname");
    }
    if (address.ss_family == AF_INET6) {
        return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
    }
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::expected<std::size_t, IoError> receive(const Fd& socket, std::span<char> into) {
    return result(::recv(socket.number(), into.data(), into.size(), 0));
}

std::expected<std::size_t, IoError> send(const Fd& socket, std::span<const iovec> parts) {
    return result(::writev(socket.number(), parts.data(), static_cast<int>(parts.size())));
}

void finish_sending(const Fd& socket) {
    ::shutdown(socket.number(), SHUT_WR);
}

}  // namespace web
