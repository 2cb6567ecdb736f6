#include "options.h"

#include "command_line.h"

namespace web {

namespace {

// TODO(5.4): until chapter 7 one thread serves: state that in the help.
OptionTable server_options(ServerOptions& server) {
    return {
        text_option("host", "ADDRESS", "numeric address to listen on", server.host),
        number_option("port", "PORT", "port to listen on; 0 lets the system choose", server.port),
        number_option("threads", "N", "threads that serve: by default one for each hardware thread",
                      server.threads, 1),
    };
}

// TODO(5.5): add the options for the limits, as described in the chapter.
OptionTable option_table(Options& options) {
    return joined({server_options(options.server)});
}

}  // namespace

std::optional<Options> read_options(int argc, char** argv) {
    Options options;
    if (!parse_options(argc, argv, option_table(options))) return std::nullopt;
    return options;
}

}  // namespace web
