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
    explicit Threads(std::atomic<bool>& stopping) : stopping_(stopping) {}
    ~Threads() {
        if (std::uncaught_exceptions() > 0) stopping_.store(true, std::memory_order_relaxed);
        for (std::thread& thread : threads_)
            thread.join();
    }

    template <typename Function>
    void start(Function function) {
        threads_.emplace_back(function);
    }

private:
    std::vector<std::thread> threads_;
    std::atomic<bool>& stopping_;
};

}  // namespace

// TODO(15): pass the certificates on.
Server::Server(const ServerOptions& options, const HandlerFactory& make_handler, Log& log,
               std::atomic<bool>& stopping)
    : limiter_(options.limiter), stopping_(stopping) {
    std::vector<std::unique_ptr<Handler>> handlers(options.threads);
    std::ranges::generate(handlers, make_handler);  // may throw, so it runs before a port is open
    for (Fd& listener : listen_on(options.host, options.port, options.threads)) {
        port_ = local_port(listener);
        workers_.push_back(std::make_unique<Worker>(
            std::move(listener), std::move(handlers[workers_.size()]), options.limits,
            options.buffers / options.threads, limiter_, log, stopping));
    }
}

void Server::run() {
    Threads threads(stopping_);
    for (unsigned i = 1; i < workers_.size(); ++i) {
        threads.start([this, i] { work(i); });
    }
    work(0);
}

void Server::work(unsigned index) {
    pin_to_core(index);
    workers_[index]->run();
}

}  // namespace web
