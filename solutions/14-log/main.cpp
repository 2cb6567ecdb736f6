#include <getopt.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

#include "app.h"
#include "file_handler.h"
#include "log.h"
#include "server.h"
#include "wake_event.h"

namespace {

constexpr const char* usage =
    "usage: server [--root DIR] [--cache BYTES] [--host 127.0.0.1] [--port 8080]\n"
    "              [--threads N] [--timeout S] [--limits I,H,P,L,S] [--min-rate BYTES]\n"
    "              [--max-clients N] [--per-address N] [--max-buffered BYTES]\n"
    "              [--access-log FILE] [--error-log FILE] [--log-format combined|json]\n"
    "              [--log-level error|warn|info] [--log-size BYTES] [--help]\n"
    "\n"
    "  --root DIR       serve the files beneath this directory, too\n"
    "  --cache BYTES    keep so much of them in memory, for up to a second without looking\n"
    "                   whether they have changed; 0 keeps nothing (default 64 MiB)\n"
    "  --host ADDRESS   numeric address to listen on (default 127.0.0.1)\n"
    "  --port PORT      port to listen on; 0 lets the system choose (default 8080)\n"
    "  --threads N      threads that serve (default: one for each core it may use)\n"
    "  --timeout S      seconds that a client may be idle (default 60)\n"
    "  --limits I,H,P,L,S\n"
    "                   seconds that a client may be idle, that a head may take, that a body\n"
    "                   or answer may make no progress, that a client may linger after its last\n"
    "                   answer, and that all have when the server stops (default 60,30,10,2,1)\n"
    "  --min-rate BYTES a body or answer that makes less of them in a second, in the time of P,\n"
    "                   makes no progress; 0 counts any (default 500)\n"
    "  --max-clients N  clients at a time; more are told to come back (default 10000)\n"
    "  --per-address N  of them from one address, or one /64 of IPv6; 0: any (default 0)\n"
    "  --max-buffered BYTES\n"
    "                   what waits for clients to send or receive may take so much memory; then\n"
    "                   those go who have made no progress for longest (default 64 MiB)\n"
    "  --access-log FILE\n"
    "                   write a line for each request to this file; - is standard output\n"
    "                   (default: none)\n"
    "  --error-log FILE write what goes wrong to this file (default: standard error)\n"
    "  --log-format combined|json\n"
    "                   how lines look (default combined)\n"
    "  --log-level error|warn|info\n"
    "                   how much the error log tells (default warn)\n"
    "  --log-size BYTES rename a log that would become larger, and begin another; three old\n"
    "                   ones are kept; 0 lets them grow (default 0); SIGHUP opens both logs\n"
    "                   again by their names\n"
    "  --help           this text\n";

// Signalled by the signal handler, watched by the event loops.
const web::WakeEvent* stop_event = nullptr;

extern "C" void request_stop(int) {
    stop_event->signal();
}

// The same for SIGHUP: log files were renamed.
const web::WakeEvent* reload_event = nullptr;

extern "C" void request_reload(int) {
    reload_event->signal();
}

void handle_signals() {
    struct sigaction stop{};
    stop.sa_handler = request_stop;
    ::sigaction(SIGINT, &stop, nullptr);
    ::sigaction(SIGTERM, &stop, nullptr);
    ::signal(SIGPIPE, SIG_IGN);  // send(2) to a disconnected client must fail, not end the process
}

// Without a log, SIGHUP keeps its default action. SIGXFSZ is ignored, so that a log at its size
// limit is an error of write(2) and doesn't end the process.
void handle_log_signals() {
    struct sigaction reload{};
    reload.sa_handler = request_reload;
    reload.sa_flags = SA_RESTART;
    ::sigaction(SIGHUP, &reload, nullptr);
    ::signal(SIGXFSZ, SIG_IGN);
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

web::Limits parse_limits(const char* text, std::uint32_t rate) {
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
    return {seconds(idle), seconds(head), seconds(progress), seconds(linger), seconds(stop), rate};
}

/// With very many threads the default is raised so that each has enough, unless a value was given.
void set_buffers(web::ServerOptions& server, std::optional<std::size_t> asked) {
    constexpr std::size_t min = web::BufferPool::min_bound;
    server.buffers = asked.value_or(std::max(server.buffers, server.threads * min));
    if (server.buffers / server.threads >= min) return;
    throw std::invalid_argument("--max-buffered " + std::to_string(server.buffers) +
                                ": less than " + std::to_string(min) + " bytes for each of " +
                                std::to_string(server.threads) + " threads");
}

std::string parse_root(const char* text) {
    if (*text == '\0') throw std::invalid_argument("--root: without a directory");
    return text;
}

std::string parse_file(const std::string& option, const char* text) {
    if (*text == '\0') throw std::invalid_argument(option + ": without a file");
    return text;
}

web::LogFormat parse_format(const std::string& text) {
    if (text == "combined") return web::LogFormat::combined;
    if (text == "json") return web::LogFormat::json;
    throw std::invalid_argument("--log-format " + text + ": neither combined nor json");
}

web::LogLevel parse_level(const std::string& text) {
    if (text == "error") return web::LogLevel::error;
    if (text == "warn") return web::LogLevel::warn;
    if (text == "info") return web::LogLevel::info;
    throw std::invalid_argument("--log-level " + text + ": none of error, warn and info");
}

struct Options {
    web::ServerOptions server;
    std::string root;
    std::size_t cache = 64 * 1024 * 1024;
    web::LogOptions log;
};

// One worker's share. Most descriptors are reserved for clients.
web::CacheBounds cache_bounds(const Options& options) {
    rlimit descriptors{};
    ::getrlimit(RLIMIT_NOFILE, &descriptors);
    return {options.cache / options.server.threads,
            static_cast<std::size_t>(descriptors.rlim_cur) / 4 / options.server.threads};
}

constexpr option known[] = {
    {"host", required_argument, nullptr, 'h'},
    {"port", required_argument, nullptr, 'p'},
    {"threads", required_argument, nullptr, 't'},
    {"limits", required_argument, nullptr, 'l'},
    {"root", required_argument, nullptr, 'r'},
    {"cache", required_argument, nullptr, 'c'},
    {"timeout", required_argument, nullptr, 'i'},
    {"min-rate", required_argument, nullptr, 'm'},
    {"max-clients", required_argument, nullptr, 'n'},
    {"per-address", required_argument, nullptr, 'a'},
    {"max-buffered", required_argument, nullptr, 'b'},
    {"access-log", required_argument, nullptr, 'o'},
    {"error-log", required_argument, nullptr, 'e'},
    {"log-format", required_argument, nullptr, 'f'},
    {"log-level", required_argument, nullptr, 'v'},
    {"log-size", required_argument, nullptr, 's'},
    {"help", no_argument, nullptr, 'u'},  // usage
    {},
};

/// False if the option is not one of the log's.
bool set_log_option(int found, web::LogOptions& log) {
    switch (found) {
        case 'o': log.access = parse_file("--access-log", optarg); return true;
        case 'e': log.error = parse_file("--error-log", optarg); return true;
        case 'f': log.format = parse_format(optarg); return true;
        case 'v': log.level = parse_level(optarg); return true;
        case 's': log.max_size = parse_number<std::size_t>("--log-size", optarg, 0); return true;
        default: return false;
    }
}

/// Returns nothing if only the usage was requested.
std::optional<Options> parse_options(int argc, char** argv) {
    Options options;
    auto& [server, root, cache, log] = options;
    auto& [clients, per_address] = server.limiter;
    web::Limits& limits = server.limits;
    std::optional<std::size_t> buffers;
    for (int found; (found = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (found) {
            case 'h': server.host = optarg; break;
            case 'p': server.port = parse_number<std::uint16_t>("--port", optarg, 0); break;
            case 't': server.threads = parse_number<unsigned>("--threads", optarg, 1); break;
            case 'l': limits = parse_limits(optarg, limits.rate); break;
            case 'i':
                limits.idle = std::chrono::seconds(parse_number<unsigned>("--timeout", optarg, 0));
                break;
            case 'm': limits.rate = parse_number<std::uint32_t>("--min-rate", optarg, 0); break;
            case 'n': clients = parse_number<std::size_t>("--max-clients", optarg, 1); break;
            case 'a': per_address = parse_number<std::size_t>("--per-address", optarg, 0); break;
            case 'b': buffers = parse_number<std::size_t>("--max-buffered", optarg, 1); break;
            case 'r': root = parse_root(optarg); break;
            case 'c': cache = parse_number<std::size_t>("--cache", optarg, 0); break;
            case 'u': return std::nullopt;
            default:
                if (!set_log_option(found, log)) throw std::invalid_argument("see --help");
        }
    }
    if (optind < argc) throw std::invalid_argument(std::string(argv[optind]) + ": see --help");
    set_buffers(server, buffers);
    return options;
}

void serve(const Options& options) {
    const auto make_handler = [&] {
        auto app = web::make_app();
        return options.root.empty()
                   ? std::move(app)
                   : web::serve_files(options.root, cache_bounds(options), std::move(app));
    };
    web::Log log(options.log);
    if (!options.log.access.empty() || !options.log.error.empty()) handle_log_signals();
    web::Server server(options.server, make_handler, log, *reload_event, *stop_event);
    const bool ipv6 = options.server.host.contains(':');
    const std::string host = ipv6 ? "[" + options.server.host + "]" : options.server.host;
    std::printf("listening on http://%s:%u\n", host.c_str(), unsigned{server.port()});
    std::fflush(stdout);
    log.write(web::LogLevel::info, "listening on " + host + ":" + std::to_string(server.port()));
    server.run();
    log.write(web::LogLevel::info, "stopped");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        // Never destroyed, because a signal may arrive until the very end.
        reload_event = new web::WakeEvent;
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
