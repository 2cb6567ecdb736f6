#include "server.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "affinity.h"
#include "send_ring.h"
#include "socket.h"

namespace web {
namespace {

/// Joins its threads when destroyed. If that is due to an exception, it stops them first.
class Threads {
public:
    explicit Threads(const WakeEvent& stop) : stop_(stop) {}
    ~Threads() {
        if (std::uncaught_exceptions() > 0) stop_.signal();
        for (std::thread& thread : threads_)
            thread.join();
    }

    template <typename Function>
    void start(Function function) {
        threads_.emplace_back(function);
    }

private:
    std::vector<std::thread> threads_;
    const WakeEvent& stop_;
};

std::string_view remedy(int error) {
    switch (error) {
        case EPERM:
            return "allow it in the container's seccomp profile, or set the sysctl "
                   "kernel.io_uring_disabled to 0";
        case ENOSYS: return "it takes Linux 5.6, and no sandbox that hides it";
        case ENOMEM: return "give the server more memory; before Linux 5.12, raise ulimit -l";
        case EMFILE: return "raise ulimit -n";
        default: return "see io_uring_setup(2)";
    }
}

// A ring for each worker, null from the first one that the kernel refuses. TLS uses none.
std::vector<std::unique_ptr<SendRing>> make_rings(std::size_t count, const Tls& tls, Log& log) {
    std::vector<std::unique_ptr<SendRing>> rings(count);
    if (!has_send_ring || tls.is_on()) return rings;
    try {
        std::ranges::generate(rings, std::make_unique<SendRing>);
    } catch (const std::system_error& error) {
        log.write(LogLevel::warn, "answers are not sent together, because io_uring is refused (" +
                                      std::string(error.what()) +
                                      "): " + std::string(remedy(error.code().value())));
    }
    return rings;
}

}  // namespace

Server::Server(const ServerOptions& options, const HandlerFactory& make_handler, Tls& tls, Log& log,
               const WakeEvent& reload, const WakeEvent& stop)
    : limiter_(options.limiter), stop_(stop) {
    std::vector<std::unique_ptr<Handler>> handlers(options.threads);
    std::ranges::generate(handlers, make_handler);  // may throw, so it runs before a port is open
    auto rings = make_rings(options.threads, tls, log);
    for (Fd& listener : listen_on(options.host, options.port, options.threads)) {
        port_ = local_port(listener);
        workers_.push_back(std::make_unique<Worker>(
            std::move(listener), std::move(handlers[workers_.size()]),
            std::move(rings[workers_.size()]), options.timeouts, options.buffers / options.threads,
            limiter_, tls, log, reload, stop));
    }
}

void Server::run() {
    pinned_ = has_core_for_each(static_cast<unsigned>(workers_.size()));
    Threads threads(stop_);
    for (unsigned i = 1; i < workers_.size(); ++i) {
        threads.start([this, i] { work(i); });
    }
    work(0);
}

void Server::work(unsigned index) {
    if (pinned_) pin_to_core(index);
    workers_[index]->run();
}

}  // namespace web
