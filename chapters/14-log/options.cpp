#include "options.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

#include "command_line.h"

namespace web {

namespace {

Option root_option(std::string& root) {
    const auto set_root = [&root](const std::string& value) {
        if (value.empty()) throw std::invalid_argument("must name a directory");
        root = value;
    };
    return {"root", "DIR", "also serve the files in this directory", root, set_root};
}

OptionTable file_options(Options& options) {
    return {
        root_option(options.root),
        number_option("cache", "BYTES",
                      "memory for copies of files, which are used for up to a second without "
                      "looking whether they have changed; 0 keeps none",
                      options.cache),
    };
}

OptionTable server_options(ServerOptions& server) {
    return {
        text_option("host", "ADDRESS", "numeric address to listen on", server.host),
        number_option("port", "PORT", "port to listen on; 0 lets the system choose", server.port),
        number_option("threads", "N",
                      "threads that serve: by default one for each core that the process may use",
                      server.threads, 1),
    };
}

OptionTable timeout_options(Timeouts& timeouts) {
    return {
        seconds_option("timeout", "time for which a client may be idle", timeouts.idle),
        seconds_option("head-timeout", "time for a client to send a whole request head",
                       timeouts.head),
        seconds_option("progress-timeout",
                       "time for which a body or an answer may make no progress",
                       timeouts.progress),
        seconds_option("linger-timeout", "time for a client to close after its last answer",
                       timeouts.linger),
        seconds_option("stop-timeout",
                       "time for clients to receive their answers when the server stops",
                       timeouts.stop),
        // Sets all five at once, for scripts that were written before these had names.
        list_option("limits", {&timeouts.idle, &timeouts.head, &timeouts.progress, &timeouts.linger,
                               &timeouts.stop}),
    };
}

/// With very many threads the default is raised so that each has enough, unless a value was given.
void set_buffers(ServerOptions& server, std::optional<std::size_t> asked) {
    constexpr std::size_t min = BufferPool::min_bound;
    server.buffers = asked.value_or(std::max(server.buffers, server.threads * min));
    if (server.buffers / server.threads >= min) return;
    throw std::invalid_argument("--max-buffered " + std::to_string(server.buffers) +
                                ": less than " + std::to_string(min) + " bytes for each of " +
                                std::to_string(server.threads) + " threads");
}

OptionTable overload_options(ServerOptions& server, std::optional<std::size_t>& buffers) {
    const auto set_asked = [&buffers](const std::string& value) {
        buffers = parse_number(value, 1, std::numeric_limits<std::size_t>::max());
    };
    return {
        number_option("min-rate", "BYTES",
                      "bytes a second that a body or an answer must move, on average over "
                      "--progress-timeout, to make progress; 0 accepts any",
                      server.timeouts.min_rate),
        number_option("max-clients", "N", "clients at a time; more are refused",
                      server.limiter.clients, 1),
        number_option("per-address", "N",
                      "clients from one address, or from one /64 of IPv6; 0 sets no limit",
                      server.limiter.per_address),
        {"max-buffered", "BYTES",
         "memory for data that waits for clients; beyond it the clients that have made no progress "
         "for longest are disconnected",
         std::to_string(server.buffers), set_asked},
    };
}

// TODO(14.2): --error-log, --log-format and --log-level.
// TODO(14.3): --access-log.
// TODO(14.4): --log-size.
OptionTable option_table(Options& options, std::optional<std::size_t>& buffers) {
    return joined({file_options(options), server_options(options.server),
                   timeout_options(options.server.timeouts),
                   overload_options(options.server, buffers)});
}

}  // namespace

std::optional<Options> read_options(int argc, char** argv) {
    Options options;
    std::optional<std::size_t> buffers;
    if (!parse_options(argc, argv, option_table(options, buffers))) return std::nullopt;
    set_buffers(options.server, buffers);
    return options;
}

}  // namespace web
