#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

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

void set_timeout(const Fd& socket, int option) {
    const timeval slice{0, std::chrono::microseconds(wait_slice).count()};
    if (::setsockopt(socket.number(), SOL_SOCKET, option, &slice, sizeof slice) < 0) {
        fail("setsockopt");
    }
}

void set_blocking(const Fd& socket, bool blocking) {
    const int flags = ::fcntl(socket.number(), F_GETFL);
    ::fcntl(socket.number(), F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

// Plain SO_REUSEPORT lets the last listener have every client; only FreeBSD's SO_REUSEPORT_LB
// balances. Without it the threads take turns at one listener.
#ifdef SO_REUSEPORT_LB
constexpr int share_option = SO_REUSEPORT_LB;
constexpr bool can_share = true;
#else
constexpr int share_option = 0;
constexpr bool can_share = false;
#endif

Fd bind_to(const std::string& host, std::uint16_t port, bool shared) {
    const Addresses address = resolve(host, port);
    Fd socket(::socket(address->ai_family, SOCK_STREAM, 0));
    if (socket.number() < 0) fail("socket");
    set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    if (shared) set_option(socket, SOL_SOCKET, share_option, 1);
    if (::bind(socket.number(), address->ai_addr, address->ai_addrlen) < 0) {
        fail("bind " + host + ":" + std::to_string(port));
    }
    return socket;
}

// Accepted sockets inherit the listener's options: what is set here once is not set per client.
void start_listening(const Fd& socket) {
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_timeout(socket, SO_RCVTIMEO);
    set_timeout(socket, SO_SNDTIMEO);
    if (::listen(socket.number(), SOMAXCONN) < 0) fail("listen");
    set_blocking(socket, false);
}

Fd duplicate(const Fd& socket) {
    Fd copy(::dup(socket.number()));
    if (copy.number() < 0) fail("dup");
    return copy;
}

}  // namespace

// Sharing the port would share it with another server of ours too, so the first try is without.
std::vector<Fd> listen_on(const std::string& host, std::uint16_t port, unsigned count) {
    const std::uint16_t free_port = local_port(bind_to(host, port, false));
    std::vector<Fd> listeners;
    for (unsigned i = 0; i < count; ++i) {
        if (i > 0 && !can_share) {
            listeners.push_back(duplicate(listeners.front()));
        } else {
            listeners.push_back(bind_to(host, free_port, can_share));
            start_listening(listeners.back());
        }
    }
    return listeners;
}

// SO_RCVTIMEO does not reach accept(2) here, so poll(2) waits; the listener is non-blocking in case
// the client is gone by then, and its clients, which inherit that, are made blocking again.
// TODO(5): accept4(2) with SOCK_NONBLOCK where there is one; elsewhere the listener's flag is
// inherited.
std::optional<Fd> accept_client(const Fd& listener) {
    pollfd waiting{listener.number(), POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(wait_slice.count())) <= 0) return std::nullopt;
    Fd client(::accept(listener.number(), nullptr, nullptr));
    if (client.number() < 0) {
        // accept(2): out of descriptors or memory. Waiting beats asking again at once.
        const bool exhausted =
            errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (exhausted) std::this_thread::sleep_for(wait_slice);
        return std::nullopt;
    }
    set_blocking(client, true);
    return client;
}

}  // namespace web
