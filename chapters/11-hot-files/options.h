#pragma once

#include <optional>
#include <string>

#include "server.h"

namespace web {

/// What the command line sets. The values here are the defaults.
struct Options {
    ServerOptions server;
    std::string root;  // empty: no files
    // TODO(11.1): how much is cached (64 MiB).
};

/// Returns nothing if only --help was requested. Throws std::invalid_argument.
std::optional<Options> read_options(int argc, char** argv);

}  // namespace web
