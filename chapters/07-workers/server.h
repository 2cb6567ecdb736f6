#pragma once

#include <cstdint>
#include <string>

#include "handler.h"
#include "wake_event.h"
#include "worker.h"

namespace web {

struct ServerOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;
    unsigned threads = 1;
    Timeouts timeouts;
};

/// Listens, and serves all clients from one event loop on the calling thread.
class Server {
public:
    /// Throws std::system_error if it cannot listen. `stop` must outlive the server.
    Server(const ServerOptions& options, HandlerFactory make_handler, const WakeEvent& stop);

    std::uint16_t port() const { return port_; }

    /// Returns when `stop` is signalled and the clients being answered have their answers.
    void run() { worker_.run(); }

private:
    // TODO(7.1): one worker per thread; the first can use the calling thread. Nothing hot is
    // shared.
    // TODO(7.2): bind each worker to a core, if there is one for each. The default of `threads` is
    // the number of usable cores.
    Worker worker_;
    std::uint16_t port_;
};

}  // namespace web
