#include <getopt.h>
#include <signal.h>

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
#include "server.h"
#include "wake_event.h"

namespace {

constexpr const char* usage =
    "usage: server [--host 127.0.0.1] [--port 8080] [--threads N] [--limits I,H,P,L,S] [--help]\n"
    "\n"
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

/// Returns nothing if only the usage was requested.
std::optional<web::ServerOptions> parse_options(int argc, char** argv) {
    const option known[] = {
        {"host", required_argument, nullptr, 'h'},
        {"port", required_argument, nullptr, 'p'},
        {"threads", required_argument, nullptr, 't'},
        {"limits", required_argument, nullptr, 'l'},
        {"help", no_argument, nullptr, 'u'},  // usage
        {},
    };
    web::ServerOptions options;
    for (int found; (found = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (found) {
            case 'h': options.host = optarg; break;
            case 'p': options.port = parse_number<std::uint16_t>("--port", optarg, 0); break;
            case 't': options.threads = parse_number<unsigned>("--threads", optarg, 1); break;
            case 'l': options.limits = parse_limits(optarg); break;
            case 'u': return std::nullopt;
            default: throw std::invalid_argument("see --help");
        }
    }
    if (optind < argc) throw std::invalid_argument(std::string(argv[optind]) + ": see --help");
    return options;
}

void serve(const web::ServerOptions& options) {
    web::Server server(options, web::make_app, *stop_event);
    const bool ipv6 = options.host.contains(':');
    const std::string host = ipv6 ? "[" + options.host + "]" : options.host;
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
