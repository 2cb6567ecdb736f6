#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>

#include "app.h"
#include "options.h"
#include "server.h"
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

void handle_signals() {
    struct sigaction stop{};
    stop.sa_handler = request_stop;
    ::sigaction(SIGINT, &stop, nullptr);
    ::sigaction(SIGTERM, &stop, nullptr);
    ::signal(SIGPIPE, SIG_IGN);  // send(2) to a disconnected client must fail, not end the process
}

void serve(const web::Options& options) {
    web::Server server(options.server, web::make_app, *stop_event);
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
        // Never destroyed, because a signal may arrive until the very end.
        stop_event = new web::WakeEvent;
        handle_signals();
        if (const auto options = web::read_options(argc, argv)) serve(*options);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "server: %s\n", error.what());
        return 1;
    }
}
