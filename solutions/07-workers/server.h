#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "affinity.h"
#include "handler.h"
#include "wake_event.h"
#include "worker.h"

namespace web {

struct ServerOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;
    unsigned threads = usable_cores();
    Timeouts timeouts;
};

/// One worker per thread, including the calling thread. They share only the flag that stops them.
class Server {
public:
    /// Throws std::system_error if it cannot listen. `stop` must outlive the server.
    Server(const ServerOptions& options, HandlerFactory make_handler, const WakeEvent& stop);

    std::uint16_t port() const { return port_; }

    /// Returns when `stop` is signalled and the clients being answered have their answers. Throws
    /// std::system_error if a thread cannot be started.
    void run();

private:
    void work(unsigned index);

    std::vector<std::unique_ptr<Worker>> workers_;
    std::uint16_t port_ = 0;
    bool pinned_ = false;  // each worker to a core
    const WakeEvent& stop_;
};

}  // namespace web
