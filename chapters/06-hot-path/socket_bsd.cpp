#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "socket.h"

namespace web {
namespace {

[[noreturn]] void fail(const std::string& call) {
    throw std::system_error(errno, std::generic_category(), call);
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (error != 0) throw std::invalid_argument("--host " + host + ": " + gai_strerror(error));
    return Addresses(found, &freeaddrinfo);
}

void set_option(const Fd& socket, int level, int option, int value) {
    if (::setsockopt(socket.number(), level, option, &value, sizeof value) < 0) {
        fail("setsockopt");
    }
}

// Not all of these systems have accept4(2), but all let a client inherit the listener's flag.
bool set_non_blocking(const Fd& socket) {
    const int flags = ::fcntl(socket.number(), F_GETFL);
    return flags >= 0 && ::fcntl(socket.number(), F_SETFL, flags | O_NONBLOCK) == 0;
}

AcceptError accept_error() {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return AcceptError::would_block;
    const bool exhausted =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return exhausted ? AcceptError::exhausted : AcceptError::gone;
}

}  // namespace

// Accepted sockets inherit TCP_NODELAY and O_NONBLOCK from the listener.
Fd listen_on(const std::string& host, std::uint16_t port) {
    const Addresses address = resolve(host, port);
    Fd socket(::socket(address->ai_family, SOCK_STREAM, 0));
    if (socket.number() < 0) fail("socket");
    set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    if (!set_non_blocking(socket)) fail("fcntl");
    if (::bind(socket.number(), address->ai_addr, address->ai_addrlen) < 0) {
        fail("bind " + host + ":" + std::to_string(port));
    }
    if (::listen(socket.number(), SOMAXCONN) < 0) fail("listen");
    return socket;
}

std::expected<Fd, AcceptError> accept_client(const Fd& listener) {
    Fd client(::accept(listener.number(), nullptr, nullptr));
    if (client.number() < 0) return std::unexpected(accept_error());
    return client;
}

}  // namespace web
