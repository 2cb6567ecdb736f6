#include "options.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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

Option file_option(std::string name, std::string help, std::string& file) {
    const auto set_file = [&file](const std::string& value) {
        if (value.empty()) throw std::invalid_argument("must name a file");
        file = value;
    };
    return {std::move(name), "FILE", std::move(help), file, set_file};
}

template <typename Choice>
struct Named {
    std::string name;
    Choice choice;
};

/// "a or b", "a, b or c".
template <typename Choice>
std::string any_of(const std::vector<Named<Choice>>& choices) {
    std::string names;
    for (const auto& choice : choices) {
        const bool first = &choice == &choices.front();
        const bool last = &choice == &choices.back();
        if (!first) names += last ? " or " : ", ";
        names += choice.name;
    }
    return names;
}

template <typename Choice>
Option choice_option(std::string name, std::string argument, std::string help, Choice& variable,
                     const std::vector<Named<Choice>>& choices) {
    const auto current = std::ranges::find(choices, variable, &Named<Choice>::choice);
    const auto set_choice = [&variable, choices](const std::string& value) {
        const auto found = std::ranges::find(choices, value, &Named<Choice>::name);
        if (found == choices.end()) throw std::invalid_argument("must be " + any_of(choices));
        variable = found->choice;
    };
    return {std::move(name), std::move(argument), std::move(help), current->name, set_choice};
}

OptionTable log_options(LogOptions& log) {
    return {
        file_option("access-log",
                    "write a line for each request to this file; - is standard output", log.access),
        file_option("error-log",
                    "write problems to this file instead of standard error; SIGHUP reopens both "
                    "logs",
                    log.error),
        choice_option("log-format", "FORMAT", "format of the access log: combined or json",
                      log.format, {{"combined", LogFormat::combined}, {"json", LogFormat::json}}),
        choice_option(
            "log-level", "LEVEL", "how much the error log reports: error, warn or info", log.level,
            {{"error", LogLevel::error}, {"warn", LogLevel::warn}, {"info", LogLevel::info}}),
        number_option("log-size", "BYTES",
                      "rename a log that would become larger and begin another, keeping three old "
                      "ones; 0 sets no limit",
                      log.max_size),
    };
}

/// The n-th key belongs to the n-th certificate.
struct TlsFiles {
    std::vector<std::string> certs;
    std::vector<std::string> keys;
};

Option repeated_file_option(std::string name, std::string help, std::vector<std::string>& files) {
    const auto add_file = [&files](const std::string& value) {
        if (value.empty()) throw std::invalid_argument("must name a file");
        files.push_back(value);
    };
    return {std::move(name), "FILE", std::move(help), {}, add_file};
}

OptionTable tls_options(TlsOptions& tls, TlsFiles& files) {
    // RFC 8446 §4.6.1: a ticket is valid for at most a week, and a key opens tickets for twice its
    // lifetime.
    const auto set_lifetime = [&tls](const std::string& value) {
        tls.ticket_lifetime = std::chrono::seconds(parse_number(value, 1, 7 * 24 * 60 * 60 / 2));
    };
    return {
        repeated_file_option("cert",
                             "speak TLS with this certificate and its chain (PEM); repeat --cert "
                             "and --key for other hosts; SIGHUP reads all files again",
                             files.certs),
        repeated_file_option("key", "private key of the certificate (PEM, without a pass phrase)",
                             files.keys),
        {"ticket-lifetime", "SECONDS",
         "time for which a key issues session tickets; it opens them for as long again",
         std::to_string(tls.ticket_lifetime.count()), set_lifetime},
    };
}

void set_identities(TlsOptions& tls, const TlsFiles& files) {
    if (files.certs.size() != files.keys.size()) {
        throw std::invalid_argument("--cert and --key must be given in pairs");
    }
    for (std::size_t i = 0; i < files.certs.size(); ++i)
        tls.identities.push_back({files.certs[i], files.keys[i]});
}

OptionTable option_table(Options& options, std::optional<std::size_t>& buffers, TlsFiles& files) {
    return joined({file_options(options), server_options(options.server),
                   timeout_options(options.server.timeouts),
                   overload_options(options.server, buffers), log_options(options.log),
                   tls_options(options.tls, files)});
}

}  // namespace

std::optional<Options> read_options(int argc, char** argv) {
    Options options;
    std::optional<std::size_t> buffers;
    TlsFiles files;
    if (!parse_options(argc, argv, option_table(options, buffers, files))) return std::nullopt;
    set_buffers(options.server, buffers);
    set_identities(options.tls, files);
    return options;
}

}  // namespace web
