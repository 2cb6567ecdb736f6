#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>

#include "app.h"
#include "file_handler.h"
#include "log.h"
#include "options.h"
#include "server.h"
#include "tls.h"
#include "wake_event.h"

namespace {

// A process may be started with these closed. Its first sockets and files would get their numbers,
// and receive what the server prints.
void open_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != stream) {
            throw std::system_error(errno, std::generic_category(), "/dev/null");
        }
    }
}

// Signalled by the signal handler, watched by the event loops.
const web::WakeEvent* stop_event = nullptr;

extern "C" void request_stop(int) {
    stop_event->signal();
}

// The same for SIGHUP: log files were renamed or certificates replaced.
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

// Without files to reopen, SIGHUP keeps its default action. A log at its size limit is an error of
// write(2) and doesn't end the process.
void handle_file_signals() {
    struct sigaction reload{};
    reload.sa_handler = request_reload;
    reload.sa_flags = SA_RESTART;
    ::sigaction(SIGHUP, &reload, nullptr);
    ::signal(SIGXFSZ, SIG_IGN);
}

// One worker's share. Most descriptors are reserved for clients.
web::CacheBounds cache_bounds(const web::Options& options) {
    rlimit descriptors{};
    ::getrlimit(RLIMIT_NOFILE, &descriptors);
    return {options.cache / options.server.threads,
            static_cast<std::size_t>(descriptors.rlim_cur) / 4 / options.server.threads};
}

void serve(const web::Options& options) {
    const auto make_handler = [&] {
        auto app = web::make_app();
        return options.root.empty()
                   ? std::move(app)
                   : web::serve_files(options.root, cache_bounds(options), std::move(app));
    };
    web::Log log(options.log);
    web::Tls tls(options.tls);
    if (!options.log.access.empty() || !options.log.error.empty() || tls.is_on()) {
        handle_file_signals();
    }
    web::Server server(options.server, make_handler, tls, log, *reload_event, *stop_event);
    const bool ipv6 = options.server.host.contains(':');
    const std::string host = ipv6 ? "[" + options.server.host + "]" : options.server.host;
    const char* const scheme = tls.is_on() ? "https" : "http";
    std::printf("listening on %s://%s:%u\n", scheme, host.c_str(), unsigned{server.port()});
    std::fflush(stdout);
    log.write(web::LogLevel::info, "listening on " + host + ":" + std::to_string(server.port()));
    server.run();
    log.write(web::LogLevel::info, "stopped");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        open_standard_streams();
        // Never destroyed, because a signal may arrive until the very end.
        reload_event = new web::WakeEvent;
        stop_event = new web::WakeEvent;
        handle_signals();
        if (const auto options = web::read_options(argc, argv)) serve(*options);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "server: %s\n", error.what());
        return 1;
    }
}
