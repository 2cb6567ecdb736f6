#include "options.h"

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
        // TODO(11.1): accepted but ignored so far: number_option().
        {"cache", "BYTES", {}, {}, [](const std::string&) {}, true},
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

OptionTable option_table(Options& options) {
    return joined({file_options(options), server_options(options.server),
                   timeout_options(options.server.timeouts)});
}

}  // namespace

std::optional<Options> read_options(int argc, char** argv) {
    Options options;
    if (!parse_options(argc, argv, option_table(options))) return std::nullopt;
    return options;
}

}  // namespace web
