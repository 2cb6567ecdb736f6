#include "server.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "affinity.h"
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

}  // namespace

// TODO(16.2): make a SendRing for each worker, if has_send_ring, and hand it to the worker. When
// the kernel refuses one, that worker and the following ones get none.
// TODO(16.3): then log one line, which names the cause and what the user can do about it.
Server::Server(const ServerOptions& options, const HandlerFactory& make_handler, Tls& tls, Log& log,
               const WakeEvent& reload, const WakeEvent& stop)
    : limiter_(options.limiter), stop_(stop) {
    std::vector<std::unique_ptr<Handler>> handlers(options.threads);
    std::ranges::generate(handlers, make_handler);  // may throw, so it runs before a port is open
    for (Fd& listener : listen_on(options.host, options.port, options.threads)) {
        port_ = local_port(listener);
        workers_.push_back(std::make_unique<Worker>(
            std::move(listener), std::move(handlers[workers_.size()]), options.timeouts,
            options.buffers / options.threads, limiter_, tls, log, reload, stop));
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
