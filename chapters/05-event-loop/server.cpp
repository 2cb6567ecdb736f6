#include "server.h"

#include <exception>
#include <utility>

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
        threads_.emplace_back(std::move(function));
    }

private:
    std::vector<std::thread> threads_;
    std::atomic<bool>& stopping_;
};

}  // namespace

Server::Server(const ServerOptions& options, HandlerFactory make_handler,
               std::atomic<bool>& stopping)
    : listeners_(listen_on(options.host, options.port, options.threads)),
      make_handler_(make_handler),
      stopping_(stopping) {}

// TODO(5.2): serve each client with a Driver.
// TODO(5.4): run one worker on this thread, and no other threads. Many threads come back in chapter
// 7.
void Server::run() {
    Threads threads(stopping_);
    for (const Fd& listener : listeners_) {
        // Made here, because an exception that leaves a thread's function ends the process.
        threads.start([this, &listener, handler = make_handler_()] { serve(listener, *handler); });
    }
}

void Server::serve(const Fd& listener, Handler& handler) {
    while (!stopping_.load(std::memory_order_relaxed)) {
        if (auto client = accept_client(listener)) {
            Connection(std::move(*client), handler, stopping_).serve();
        }
    }
}

}  // namespace web
