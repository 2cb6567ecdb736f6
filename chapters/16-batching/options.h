#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "log.h"
#include "server.h"
#include "tls.h"

namespace web {

/// What the command line sets. The values here are the defaults.
struct Options {
    ServerOptions server;
    std::string root;                      // empty: no files
    std::size_t cache = 64 * 1024 * 1024;  // bytes, for all workers together
    LogOptions log;
    TlsOptions tls;
};

/// Returns nothing if only --help was requested. Throws std::invalid_argument.
std::optional<Options> read_options(int argc, char** argv);

}  // namespace web
