// GIVEN(5.1): the options are now read by read_options(), in options.cpp.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>

#include "app.h"
#include "options.h"
#include "server.h"

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

// Set by the signal handler, loaded by the serving loops. No other data depends on it, so relaxed
// ordering is enough.
std::atomic<bool> stopping = false;
static_assert(std::atomic<bool>::is_always_lock_free, "or a signal handler may not store to it");

extern "C" void request_stop(int) {
    stopping.store(true, std::memory_order_relaxed);
}

// Without SA_RESTART, so that a blocked call returns and the loops look at `stopping`.
void handle_signals() {
    struct sigaction stop{};
    stop.sa_handler = request_stop;
    ::sigaction(SIGINT, &stop, nullptr);
    ::sigaction(SIGTERM, &stop, nullptr);
    ::signal(SIGPIPE, SIG_IGN);  // send(2) to a disconnected client must fail, not end the process
}

// TODO(5.4): until chapter 7 one thread serves: print a message when more are requested.
void serve(const web::Options& options) {
    web::Server server(options.server, web::make_app, stopping);
    const bool ipv6 = options.server.host.contains(':');
    const std::string host = ipv6 ? "[" + options.server.host + "]" : options.server.host;
    std::printf("listening on http://%s:%u\n", host.c_str(), unsigned{server.port()});
    std::fflush(stdout);
    server.run();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        open_standard_streams();
        handle_signals();
        if (const auto options = web::read_options(argc, argv)) serve(*options);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "server: %s\n", error.what());
        return 1;
    }
}
