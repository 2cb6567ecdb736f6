#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "connection.h"
#include "fd.h"
#include "handler.h"

namespace web {

struct ServerOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;
    // TODO(4.3): one for each hardware thread (std::thread::hardware_concurrency(), maybe 0).
    unsigned threads = 1;
};

/// Listens, and serves one client at a time on the calling thread.
class Server {
public:
    /// Throws std::system_error if it cannot listen. `stopping` must outlive the server.
    Server(const ServerOptions& options, HandlerFactory make_handler,
           const std::atomic<bool>& stopping);

    std::uint16_t port() const { return local_port(listener_); }

    /// Returns when `stopping` is set and the current client has its answer.
    void run();

private:
    // TODO(4.1): the number of threads, and a way to make a handler for each of them.
    // TODO(4.2): a listener for each thread.
    Fd listener_;
    std::unique_ptr<Handler> handler_;
    const std::atomic<bool>& stopping_;
};

}  // namespace web
