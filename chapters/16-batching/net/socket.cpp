#include "socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "sendfile.h"
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

Fd bind_to(const std::string& host, std::uint16_t port, bool shared) {
    const Addresses address = resolve(host, port);
    Fd socket = open_listener(address->ai_family);
    if (socket.number() < 0) fail("socket");
    set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    if (shared && !share_port(socket)) fail("setsockopt");
    if (::bind(socket.number(), address->ai_addr, address->ai_addrlen) < 0) {
        fail("bind " + host + ":" + std::to_string(port));
    }
    return socket;
}

// Accepted sockets inherit the listener's options, so they are set here once instead of per client.
void start_listening(const Fd& socket) {
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    if (::listen(socket.number(), SOMAXCONN) < 0) fail("listen");
}

Fd duplicate(const Fd& socket) {
    Fd copy(::dup(socket.number()));
    if (copy.number() < 0) fail("dup");
    return copy;
}

bool is_not_now(int error) {
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

AcceptError accept_error(int error) {
    if (error == EAGAIN || error == EWOULDBLOCK) return AcceptError::would_block;
    const bool exhausted =
        error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
    return exhausted ? AcceptError::exhausted : AcceptError::gone;
}

std::expected<std::size_t, IoError> result(ssize_t count, IoError not_now) {
    if (count < 0) return std::unexpected(is_not_now(errno) ? not_now : IoError::failed);
    return static_cast<std::size_t>(count);
}

}  // namespace

// If the port were shared from the start, another instance of our server could share it too. The
// first attempt without sharing detects that.
std::vector<Fd> listen_on(const std::string& host, std::uint16_t port, unsigned count) {
    const std::uint16_t free_port = local_port(bind_to(host, port, false));
    std::vector<Fd> listeners;
    for (unsigned i = 0; i < count; ++i) {
        if (i > 0 && !can_share_port) {
            listeners.push_back(duplicate(listeners.front()));
        } else {
            listeners.push_back(bind_to(host, free_port, count > 1 && can_share_port));
            start_listening(listeners.back());
        }
    }
    return listeners;
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

std::expected<Accepted, AcceptError> accept_client(const Fd& listener) {
    sockaddr_storage from{};
    Fd client = accept_non_blocking(listener, from);
    if (client.number() < 0) return std::unexpected(accept_error(errno));
    return Accepted{std::move(client), Address(from)};
}

std::expected<std::size_t, IoError> receive(const Fd& socket, std::span<char> into) {
    return result(::recv(socket.number(), into.data(), into.size(), 0), IoError::needs_receive);
}

std::expected<std::size_t, IoError> send(const Fd& socket, std::span<const iovec> parts) {
    return result(::writev(socket.number(), parts.data(), static_cast<int>(parts.size())),
                  IoError::needs_send);
}

std::expected<std::size_t, IoError> send(const Fd& socket, std::span<const iovec> parts,
                                         const FileRange& file, std::size_t limit) {
    const ssize_t count = send_with_file(socket, parts, file, limit);
    if (count == 0) return std::unexpected(IoError::failed);
    return result(count, IoError::needs_send);
}

void half_close(const Fd& socket) {
    ::shutdown(socket.number(), SHUT_WR);
}

}  // namespace web
