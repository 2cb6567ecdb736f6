#include <getopt.h>
#include <signal.h>
#include <sys/resource.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

#include "app.h"
#include "file_handler.h"
#include "server.h"
#include "wake_event.h"

namespace {

constexpr const char* usage =
    "usage: server [--root DIR] [--cache BYTES] [--host 127.0.0.1] [--port 8080]\n"
    "              [--threads N] [--limits I,H,P,L,S] [--help]\n"
    "\n"
    "  --root DIR       serve the files beneath this directory, too\n"
    "  --cache BYTES    keep so much of them in memory, for up to a second without looking\n"
    "                   whether they have changed; 0 keeps nothing (default 64 MiB)\n"
    "  --host ADDRESS   numeric address to listen on (default 127.0.0.1)\n"
    "  --port PORT      port to listen on; 0 lets the system choose (default 8080)\n"
    "  --threads N      threads that serve (default: one for each core it may use)\n"
    "  --limits I,H,P,L,S\n"
    "                   seconds that a client may be idle, that a head may take, that a body\n"
    "                   or answer may make no progress, that a client may linger after its last\n"
    "                   answer, and that all have when the server stops (default 60,30,10,2,1)\n"
    "  --help           this text\n";

// Signalled by the signal handler, watched by the event loops.
const web::WakeEvent* stop_event = nullptr;

extern "C" void request_stop(int) {
    stop_event->signal();
}

void handle_signals() {
    struct sigaction stop{};
    stop.sa_handler = request_stop;
    ::sigaction(SIGINT, &stop, nullptr);
    ::sigaction(SIGTERM, &stop, nullptr);
    ::signal(SIGPIPE, SIG_IGN);  // send(2) to a disconnected client must fail, not end the process
}

template <typename Number>
Number parse_number(const std::string& option, const char* text, Number min) {
    Number number{};
    const char* end = text + std::strlen(text);
    const auto [stopped, error] = std::from_chars(text, end, number);
    if (error != std::errc{} || stopped != end || number < min) {
        throw std::invalid_argument(option + " " + text + ": not a number in range");
    }
    return number;
}

web::Limits parse_limits(const char* text) {
    const char* const end = text + std::strlen(text);
    std::array<unsigned, 5> limits;
    const char* from = text;
    for (auto& limit : limits) {
        const auto [stopped, error] = std::from_chars(from, end, limit);
        const bool right = &limit == &limits.back() ? stopped == end : *stopped == ',';
        if (error != std::errc{} || !right) {
            throw std::invalid_argument(std::string("--limits ") + text + ": not five numbers");
        }
        from = stopped + 1;
    }
    using std::chrono::seconds;
    const auto [idle, head, progress, linger, stop] = limits;
    return {seconds(idle), seconds(head), seconds(progress), seconds(linger), seconds(stop)};
}

std::string parse_root(const char* text) {
    if (*text == '\0') throw std::invalid_argument("--root: without a directory");
    return text;
}

struct Options {
    web::ServerOptions server;
    std::string root;
    std::size_t cache = 64 * 1024 * 1024;
};

// One worker's share. Most descriptors are reserved for clients.
web::CacheBounds cache_bounds(const Options& options) {
    rlimit descriptors{};
    ::getrlimit(RLIMIT_NOFILE, &descriptors);
    return {options.cache / options.server.threads,
            static_cast<std::size_t>(descriptors.rlim_cur) / 4 / options.server.threads};
}

/// Returns nothing if only the usage was requested.
std::optional<Options> parse_options(int argc, char** argv) {
    const option known[] = {
        {"host", required_argument, nullptr, 'h'},
        {"port", required_argument, nullptr, 'p'},
        {"threads", required_argument, nullptr, 't'},
        {"limits", required_argument, nullptr, 'l'},
        {"root", required_argument, nullptr, 'r'},
        {"cache", required_argument, nullptr, 'c'},
        {"help", no_argument, nullptr, 'u'},  // usage
        {},
    };
    Options options;
    auto& [server, root, cache] = options;
    for (int found; (found = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (found) {
            case 'h': server.host = optarg; break;
            case 'p': server.port = parse_number<std::uint16_t>("--port", optarg, 0); break;
            case 't': server.threads = parse_number<unsigned>("--threads", optarg, 1); break;
            case 'l': server.limits = parse_limits(optarg); break;
            case 'r': root = parse_root(optarg); break;
            case 'c': cache = parse_number<std::size_t>("--cache", optarg, 0); break;
            case 'u': return std::nullopt;
            default: throw std::invalid_argument("see --help");
        }
    }
    if (optind < argc) throw std::invalid_argument(std::string(argv[optind]) + ": see --help");
    return options;
}

void serve(const Options& options) {
    const auto make_handler = [&] {
        auto app = web::make_app();
        return options.root.empty()
                   ? std::move(app)
                   : web::serve_files(options.root, cache_bounds(options), std::move(app));
    };
    web::Server server(options.server, make_handler, *stop_event);
    const bool ipv6 = options.server.host.contains(':');
    const std::string host = ipv6 ? "[" + options.server.host + "]" : options.server.host;
    std::printf("listening on http://%s:%u\n", host.c_str(), unsigned{server.port()});
    std::fflush(stdout);
    server.run();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        // Never destroyed, because a signal may arrive until the very end.
        stop_event = new web::WakeEvent;
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
