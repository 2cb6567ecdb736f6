#include <getopt.h>
#include <signal.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

#include "generator.h"

namespace {

constexpr const char* usage =
    "usage: open_loop --host ADDRESS --port PORT [--path /] [--rate 100] [--seconds 10]\n"
    "                 [--grace 30] [--connections 50]\n"
    "\n"
    "Sends GET requests at a fixed rate, whatever the server does, and prints a line for each:\n"
    "when it was due, sent and over (µs after the start; -1: never), whether all connections were\n"
    "busy when it became due (1 or 0), and what became of it.\n"
    "\n"
    "  --rate R         requests per second\n"
    "  --seconds S      for how long\n"
    "  --grace S        how long the last answers may take after that\n"
    "  --connections N  at most so many at a time\n";

struct Options {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    std::string path = "/";
    open_loop::Plan plan;
};

template <typename Number>
Number parse_number(const std::string& option, const char* text, Number min, Number max) {
    Number number{};
    const char* end = text + std::strlen(text);
    const auto [stopped, error] = std::from_chars(text, end, number);
    if (error != std::errc{} || stopped != end || number < min || number > max) {
        throw std::invalid_argument(option + " " + text + ": must be a number from " +
                                    std::to_string(min) + " to " + std::to_string(max));
    }
    return number;
}

std::chrono::seconds parse_seconds(const std::string& option, const char* text) {
    return std::chrono::seconds(parse_number(option, text, 1, 3600));
}

/// Returns nothing if only the usage was requested.
std::optional<Options> parse_options(int argc, char** argv) {
    const option known[] = {
        {"host", required_argument, nullptr, 'h'},
        {"port", required_argument, nullptr, 'p'},
        {"path", required_argument, nullptr, 'a'},
        {"rate", required_argument, nullptr, 'r'},
        {"seconds", required_argument, nullptr, 's'},
        {"grace", required_argument, nullptr, 'g'},
        {"connections", required_argument, nullptr, 'c'},
        {"help", no_argument, nullptr, 'u'},  // usage
        {},
    };
    constexpr std::size_t most = open_loop::Generator::max_connections;
    Options options;
    for (int found; (found = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (found) {
            case 'h': options.host = optarg; break;
            case 'p':
                options.port = parse_number<std::uint16_t>("--port", optarg, 1, UINT16_MAX);
                break;
            case 'a': options.path = optarg; break;
            case 'r': options.plan.rate = parse_number("--rate", optarg, 1, 1'000'000); break;
            case 's': options.plan.duration = parse_seconds("--seconds", optarg); break;
            case 'g': options.plan.grace = parse_seconds("--grace", optarg); break;
            case 'c':
                options.plan.connections =
                    parse_number<std::size_t>("--connections", optarg, 1, most);
                break;
            case 'u': return std::nullopt;
            default: throw std::invalid_argument("see --help");
        }
    }
    if (optind < argc) throw std::invalid_argument(std::string(argv[optind]) + ": see --help");
    return options;
}

#ifdef __linux__
/// Lets select(2) return on time. By default Linux may add 50 µs (PR_SET_TIMERSLACK, prctl(2)).
void keep_time() {
    ::prctl(PR_SET_TIMERSLACK, 1UL);
}
#else
void keep_time() {}
#endif

void run(const Options& options) {
    ::signal(SIGPIPE, SIG_IGN);
    const bool ipv6 = options.host.contains(':');
    const std::string host = ipv6 ? "[" + options.host + "]" : options.host;
    const std::string request = "GET " + options.path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
    keep_time();
    open_loop::Generator generator({options.host, options.port}, request, options.plan);
    generator.run();
    generator.print();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (const auto options = parse_options(argc, argv)) {
            run(*options);
        } else {
            std::fputs(usage, stdout);
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "open_loop: %s\n", error.what());
        return 1;
    }
}
