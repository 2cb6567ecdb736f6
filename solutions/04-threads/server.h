#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "connection.h"
#include "fd.h"
#include "handler.h"

namespace web {

struct ServerOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;
    unsigned threads = std::max(1u, std::thread::hardware_concurrency());
};

/// One thread per listener, each serving one client at a time. The threads share only the flag that
/// stops them.
class Server {
public:
    /// Throws std::system_error if it cannot listen. `stopping` must outlive the server.
    Server(const ServerOptions& options, HandlerFactory make_handler, std::atomic<bool>& stopping);

    std::uint16_t port() const { return local_port(listeners_.front()); }

    /// Returns when `stopping` is set and the clients being answered have their answers. Throws
    /// std::system_error if a thread cannot be started, and whatever making a handler throws.
    void run();

private:
    void serve(const Fd& listener, Handler& handler);

    std::vector<Fd> listeners_;
    HandlerFactory make_handler_;
    std::atomic<bool>& stopping_;
};

}  // namespace web
