#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "affinity.h"
#include "connection_limiter.h"
#include "handler.h"
#include "log.h"
#include "tls.h"
#include "wake_event.h"
#include "worker.h"

namespace web {

struct ServerOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;
    unsigned threads = usable_cores();
    Timeouts timeouts;
    ConnectionLimiter::Bounds limiter;
    std::size_t buffers = 64 * 1024 * 1024;  // bytes, for the buffers of all clients together
};

/// A worker for each thread, the calling one among them. They share nothing but the event that
/// stops them, the count of their clients, the certificates, and the files of the log.
class Server {
public:
    /// Throws std::system_error if it cannot listen. `tls`, `log`, `reload` and `stop` must outlive
    /// the server.
    Server(const ServerOptions& options, const HandlerFactory& make_handler, Tls& tls, Log& log,
           const WakeEvent& reload, const WakeEvent& stop);

    std::uint16_t port() const { return port_; }

    /// Returns when `stop` is signalled and the clients being answered have their answers. Throws
    /// std::system_error if a thread cannot be started.
    void run();

private:
    void work(unsigned index);

    ConnectionLimiter limiter_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::uint16_t port_ = 0;
    bool pinned_ = false;  // each worker to a core
    const WakeEvent& stop_;
};

}  // namespace web
