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

Fd bind_to(const std::string& host, std::uint16_t port, bool shared) {
    const Addresses address = resolve(host, port);
    Fd socket(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.number() < 0) fail("socket");
    set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    if (shared) set_option(socket, SOL_SOCKET, SO_REUSEPORT, 1);
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
}

}  // namespace

// SO_REUSEPORT (socket(7)): a queue for each listener, and a hash of the client's address picks
// one. It would also share the port with another server of ours, so the first try is without.
std::vector<Fd> listen_on(const std::string& host, std::uint16_t port, unsigned count) {
    const std::uint16_t free_port = local_port(bind_to(host, port, false));
    std::vector<Fd> listeners;
    for (unsigned i = 0; i < count; ++i) {
        listeners.push_back(bind_to(host, free_port, true));
        start_listening(listeners.back());
    }
    return listeners;
}

// TODO(5): accept4(2) with SOCK_NONBLOCK where there is one; elsewhere the listener's flag is
// inherited.
std::optional<Fd> accept_client(const Fd& listener) {
    Fd client(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.number() < 0) {
        // accept(2): out of descriptors or memory. Waiting beats asking again at once.
        const bool exhausted =
            errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (exhausted) std::this_thread::sleep_for(wait_slice);
        return std::nullopt;
    }
    return client;
}

}  // namespace web
