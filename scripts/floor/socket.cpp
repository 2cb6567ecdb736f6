#include "socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace web {
namespace {

[[noreturn]] void fail(const std::string& call) {
    throw std::system_error(errno, std::generic_category(), call);
}

std::expected<std::size_t, IoError> result(ssize_t count) {
    if (count < 0) return std::unexpected(last_error());
    return static_cast<std::size_t>(count);
}

void set_flag(int socket, int level, int option) {
    const int on = 1;
    if (::setsockopt(socket, level, option, &on, sizeof on) < 0) fail("setsockopt");
}

}  // namespace

IoError last_error() {
    switch (errno) {
        case EAGAIN:
        case EINTR: return IoError::would_block;
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case ENOMEM: return IoError::exhausted;
        default: return IoError::failed;
    }
}

int listen_on(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (error != 0) throw std::invalid_argument("--host " + host + ": " + gai_strerror(error));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> address(found, &freeaddrinfo);

    const int socket = ::socket(address->ai_family, SOCK_STREAM, 0);
    if (socket < 0) fail("socket");
    set_flag(socket, SOL_SOCKET, SO_REUSEADDR);
    set_flag(socket, IPPROTO_TCP, TCP_NODELAY);  // inherited by accepted sockets
    if (::fcntl(socket, F_SETFL, O_NONBLOCK) < 0) fail("fcntl");
    if (::bind(socket, address->ai_addr, address->ai_addrlen) < 0) {
        fail("bind " + host + ":" + std::to_string(port));
    }
    if (::listen(socket, SOMAXCONN) < 0) fail("listen");
    return socket;
}

std::uint16_t local_port(int socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) < 0) {
        fail("getsockname");
    }
    // The port has the same offset in IPv4 and IPv6 addresses (RFC 3493 §3.3).
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::expected<std::size_t, IoError> receive(int socket, std::span<char> into) {
    return result(::recv(socket, into.data(), into.size(), 0));
}

std::expected<std::size_t, IoError> send(int socket, std::string_view bytes) {
    return result(::send(socket, bytes.data(), bytes.size(), 0));
}

}  // namespace web
