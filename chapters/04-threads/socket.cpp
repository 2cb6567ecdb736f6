#include "socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "socket_system.h"

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

void set_timeout(const Fd& socket, int option) {
    const timeval slice{0, std::chrono::microseconds(wait_slice).count()};
    if (::setsockopt(socket.number(), SOL_SOCKET, option, &slice, sizeof slice) < 0) {
        fail("setsockopt");
    }
}

bool is_exhausted(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

IoError last_error() {
    const bool waited = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return waited ? IoError::timed_out : IoError::failed;
}

std::expected<std::size_t, IoError> result(ssize_t count) {
    if (count < 0) return std::unexpected(last_error());
    return static_cast<std::size_t>(count);
}

}  // namespace

// TODO(4.2): with SO_REUSEPORT several sockets may have this port, and the kernel spreads the
// clients over them. But then a second server could start on a port in use and take half of the
// clients: how do you detect that? With port 0, all sockets must have the port that the first one
// got.
// Accepted sockets inherit the listener's options, so they are set here once instead of per client.
Fd listen_on(const std::string& host, std::uint16_t port) {
    const Addresses address = resolve(host, port);
    Fd socket = open_listener(address->ai_family);
    if (socket.number() < 0) fail("socket");
    set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_timeout(socket, SO_RCVTIMEO);
    set_timeout(socket, SO_SNDTIMEO);
    if (::bind(socket.number(), address->ai_addr, address->ai_addrlen) < 0) {
        fail("bind " + host + ":" + std::to_string(port));
    }
    if (::listen(socket.number(), SOMAXCONN) < 0) fail("listen");
    return socket;
}

std::uint16_t local_port(const Fd& socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &size) < 0) {
        fail("getsockname");
    }
    if (address.ss_family == AF_INET6) {
        return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
    }
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::optional<Fd> accept_client(const Fd& listener) {
    Fd client = accept_within_slice(listener);
    if (client.number() < 0) {
        // accept(2) is out of descriptors or memory. Retrying at once would spin, so wait.
        if (is_exhausted(errno)) std::this_thread::sleep_for(wait_slice);
        return std::nullopt;
    }
    return client;
}

std::expected<std::size_t, IoError> receive(const Fd& socket, std::span<char> into) {
    return result(::recv(socket.number(), into.data(), into.size(), 0));
}

std::expected<std::size_t, IoError> send(const Fd& socket, std::span<const iovec> parts) {
    return result(::writev(socket.number(), parts.data(), static_cast<int>(parts.size())));
}

bool has_unread(const Fd& socket) {
    char byte;
    return ::recv(socket.number(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void half_close(const Fd& socket) {
    ::shutdown(socket.number(), SHUT_WR);
}

}  // namespace web
