// TODO(5.1): only an event loop: send back what each client sends, to all clients at once, on this
// one thread. usage: echo [--port 8080]
#include <fcntl.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <exception>
#include <format>
#include <map>
#include <stdexcept>
#include <string_view>

#include "poller.h"
#include "socket.h"

namespace {

using namespace std::chrono_literals;

// Set by the signal handler, loaded by the loop.
std::atomic<bool> stopping = false;

extern "C" void request_stop(int) {
    stopping.store(true, std::memory_order_relaxed);
}

/// A client, and the bytes received from it that are not sent back yet. Nothing more is received
/// until they are sent, so a client that doesn't read costs one chunk of memory and delays no other
/// client.
struct Client {
    web::Fd socket;
    std::array<char, 16 * 1024> chunk{};
    std::span<char> unsent{};
};

class Echo {
public:
    /// Listens, watches the listener, and prints "listening on http://127.0.0.1:PORT".
    explicit Echo(std::uint16_t port) {
        throw std::logic_error(std::format("port {}: part 1 is to be written", port));
    }

    /// Waits at most 200 ms. If the listener is ready, accept one client, make it non-blocking
    /// (fcntl(2)) and watch it. If a client is ready, receive once unless it has unsent bytes, send
    /// those bytes, and wait until the socket is writable while some are left.
    void run_once() {}
};

std::uint16_t parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc{} || stopped != text.data() + text.size()) {
        throw std::invalid_argument("usage: echo [--port 8080]");
    }
    return port;
}

}  // namespace

int main(int argc, char** argv) {
    struct sigaction stop{};
    stop.sa_handler = request_stop;  // without SA_RESTART, so that a signal ends the wait
    ::sigaction(SIGINT, &stop, nullptr);
    ::sigaction(SIGTERM, &stop, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    try {
        const bool has_port = argc == 3 && std::string_view(argv[1]) == "--port";
        if (argc > 1 && !has_port) throw std::invalid_argument("usage: echo [--port 8080]");
        Echo echo(has_port ? parse_port(argv[2]) : 8080);
        while (!stopping.load(std::memory_order_relaxed))
            echo.run_once();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "echo: %s\n", error.what());
        return 1;
    }
}
