#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include "app.h"
#include "server.h"

namespace {

// A process may be started with these closed. Its first sockets and files would get their numbers,
// and receive what the server prints.
void open_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != stream) {
            throw std::system_error(errno, std::generic_category(), "/dev/null");
        }
    }
}

constexpr const char* usage =
    "usage: server [--host 127.0.0.1] [--port 8080] [--threads N] [--help]\n"
    "\n"
    "  --host ADDRESS   numeric address to listen on (default 127.0.0.1)\n"
    "  --port PORT      port to listen on; 0 lets the system choose (default 8080)\n"
    "  --threads N      threads that serve (this server has one, whatever N is)\n"
    "  --help           show this help\n";

// Set by the signal handler, loaded by the serving loops. No other data depends on it, so relaxed
// ordering is enough.
std::atomic<bool> stopping = false;
static_assert(std::atomic<bool>::is_always_lock_free, "or a signal handler may not store to it");

extern "C" void request_stop(int) {
    stopping.store(true, std::memory_order_relaxed);
}

// Without SA_RESTART, so that a blocked call returns and the loops look at `stopping`.
void handle_signals() {
    struct sigaction stop{};
    stop.sa_handler = request_stop;
    ::sigaction(SIGINT, &stop, nullptr);
    ::sigaction(SIGTERM, &stop, nullptr);
    ::signal(SIGPIPE, SIG_IGN);  // send(2) to a disconnected client must fail, not end the process
}

template <typename Number>
Number parse_number(const std::string& option, const char* text, Number min) {
    constexpr Number max = std::numeric_limits<Number>::max();
    Number number{};
    const char* end = text + std::strlen(text);
    const auto [stopped, error] = std::from_chars(text, end, number);
    if (error != std::errc{} || stopped != end || number < min) {
        throw std::invalid_argument(option + " " + text + ": must be a whole number from " +
                                    std::to_string(min) + " to " + std::to_string(max));
    }
    return number;
}

/// Returns nothing if only the usage was requested.
std::optional<web::ServerOptions> parse_options(int argc, char** argv) {
    const option known[] = {
        {"host", required_argument, nullptr, 'h'},
        {"port", required_argument, nullptr, 'p'},
        {"threads", required_argument, nullptr, 't'},
        {"help", no_argument, nullptr, 'u'},  // usage
        {},
    };
    web::ServerOptions options;
    for (int found; (found = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (found) {
            case 'h': options.host = optarg; break;
            case 'p': options.port = parse_number<std::uint16_t>("--port", optarg, 0); break;
            case 't': options.threads = parse_number<unsigned>("--threads", optarg, 1); break;
            case 'u': return std::nullopt;
            default: throw std::invalid_argument("see --help");
        }
    }
    if (optind < argc) throw std::invalid_argument(std::string(argv[optind]) + ": see --help");
    return options;
}

void serve(const web::ServerOptions& options) {
    // TODO(4.1): remove this message, and correct the usage above.
    if (options.threads > 1) std::fputs("server: one thread serves here, not more\n", stderr);
    web::Server server(options, web::make_app, stopping);
    const bool ipv6 = options.host.contains(':');
    const std::string host = ipv6 ? "[" + options.host + "]" : options.host;
    std::printf("listening on http://%s:%u\n", host.c_str(), unsigned{server.port()});
    std::fflush(stdout);
    server.run();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        open_standard_streams();
        handle_signals();
        if (const auto options = parse_options(argc, argv)) {
            serve(*options);
        } else {
            std::fputs(usage, stdout);
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "server: %s\n", error.what());
        return 1;
    }
}
