#include <getopt.h>
#include <signal.h>
#include <sys/resource.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "floor.h"

namespace {

constexpr const char* usage =
    "usage: floor [--host 127.0.0.1] [--port 8080] [--threads N] [--dated] [--help]\n"
    "\n"
    "Does next to nothing: counts request ends and writes a fixed answer.\n"
    "\n"
    "  --host ADDRESS   numeric address to listen on (default 127.0.0.1)\n"
    "  --port PORT      port to listen on; 0 lets the system choose (default 8080)\n"
    "  --threads N      threads that serve (the floor has one, whatever N is)\n"
    "  --dated          answer with the fields that all answers have from chapter 9 on\n"
    "  --help           show this help\n";

struct Options {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;
    bool dated = false;
};

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
std::optional<Options> parse_options(int argc, char** argv) {
    const option known[] = {
        {"host", required_argument, nullptr, 'h'},
        {"port", required_argument, nullptr, 'p'},
        {"threads", required_argument, nullptr, 't'},
        {"dated", no_argument, nullptr, 'd'},
        {"help", no_argument, nullptr, 'u'},  // usage
        {},
    };
    Options options;
    for (int found; (found = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (found) {
            case 'h': options.host = optarg; break;
            case 'p': options.port = parse_number<std::uint16_t>("--port", optarg, 0); break;
            case 't': parse_number<unsigned>("--threads", optarg, 1); break;
            case 'd': options.dated = true; break;
            case 'u': return std::nullopt;
            default: throw std::invalid_argument("see --help");
        }
    }
    if (optind < argc) throw std::invalid_argument(std::string(argv[optind]) + ": see --help");
    return options;
}

/// Raises the limit to as many descriptors as the system allows without privileges.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

void run(const Options& options) {
    raise_descriptor_limit();
    ::signal(SIGPIPE, SIG_IGN);
    web::Floor floor(options.host, options.port, options.dated);
    const bool ipv6 = options.host.contains(':');
    const std::string host = ipv6 ? "[" + options.host + "]" : options.host;
    std::printf("listening on http://%s:%u\n", host.c_str(), unsigned{floor.port()});
    std::fflush(stdout);
    floor.run();
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
        std::fprintf(stderr, "floor: %s\n", error.what());
        return 1;
    }
}
