#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "connection.h"
#include "fd.h"
#include "handler.h"
#include "poller.h"
#include "socket.h"

namespace web {

/// How long a client may take for each thing the server waits for.
struct Limits {
    std::chrono::seconds idle{60};      // between requests
    std::chrono::seconds head{30};      // for the whole head, however often a byte arrives
    std::chrono::seconds progress{10};  // between two pieces of a body or of an answer
    std::chrono::seconds linger{2};     // to close its side after its last answer
    std::chrono::seconds stop{1};       // to receive its answer while the server is being stopped

    std::chrono::seconds timeout_for(Waiting waiting) const;
};

/// One event loop with its listener, poller and clients. Decides how many clients to accept at once
/// and how long to wait for each. Belongs to the thread that runs it.
class Worker {
public:
    /// Throws std::system_error. `stopping` must outlive the worker.
    Worker(Fd listener, std::unique_ptr<Handler> handler, const Limits& limits,
           const std::atomic<bool>& stopping);

    const Fd& listener() const { return listener_; }

    /// Returns when `stopping` is set and the clients being answered have their answers.
    void run();

private:
    using Clock = std::chrono::steady_clock;

    struct Client {
        Fd socket;
        Connection connection;
        ConnectionState state{};
        Interest interest = Interest::receive;  // what the poller waits for
        Clock::time_point deadline{};           // the deadline for what the connection wants
    };

    bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

    void run_once();
    void accept_clients();
    void pause_accepting();
    void resume_accepting();
    void on_watch_failed(int fd);
    void serve(Client& client);
    void update_state(Client& client, const ConnectionState& state);
    void watch(Client& client, Interest interest);
    void close_client(Client& client);
    void close_overdue();
    void drain();

    const std::unique_ptr<Handler> handler_;
    const Limits limits_;
    const std::atomic<bool>& stopping_;
    Fd listener_;
    Poller poller_;
    std::vector<std::unique_ptr<Client>> clients_;  // indexed by descriptor
    std::vector<std::unique_ptr<Client>> closed_;   // to be closed after the batch
    std::size_t client_count_ = 0;
    Clock::time_point now_;
    Clock::time_point next_sweep_;
    bool accepting_ = true;
};

}  // namespace web
