#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "connection.h"
#include "connection_limiter.h"
#include "fd.h"
#include "handler.h"
#include "poller.h"
#include "socket.h"

namespace web {

/// The size of a cache line in bytes: two threads must not write to the same one. C++ has
/// std::hardware_destructive_interference_size for this, but not on every system.
#if defined(__APPLE__) && defined(__aarch64__)
inline constexpr std::size_t cache_line = 128;
#else
inline constexpr std::size_t cache_line = 64;
#endif

/// How long a client may take for each thing the server waits for.
struct Limits {
    std::chrono::seconds idle{60};      // between requests
    std::chrono::seconds head{30};      // for the whole head, however often a byte arrives
    std::chrono::seconds progress{10};  // for a minimum amount of a body or an answer
    std::chrono::seconds linger{2};     // to close its side after its last answer
    std::chrono::seconds stop{1};       // to receive its answer while the server is being stopped
    // Bytes a second. A slower transfer counts as no progress.
    std::uint32_t rate = 500;

    std::chrono::seconds timeout_for(Waiting waiting) const;

    /// The minimum number of bytes of a body or an answer that earns a new deadline.
    std::uint64_t min_progress() const;
};

/// One event loop with its listener, poller and clients. Decides how many clients to accept at
/// once, how long to wait for each, and which to drop when resources run short. Belongs to the
/// thread that runs it.
class alignas(cache_line) Worker {
public:
    /// Throws std::system_error. `admission` and `stopping` must outlive the worker. Its clients
    /// may hold at most `buffers` bytes of buffers.
    Worker(Fd listener, std::unique_ptr<Handler> handler, const Limits& limits, std::size_t buffers,
           ConnectionLimiter& limiter, const std::atomic<bool>& stopping);

    /// Returns when `stopping` is set and the clients being answered have their answers.
    void run();

private:
    using Clock = std::chrono::steady_clock;

    struct Client {
        ConnectionLimiter::Slot slot;
        Fd socket;
        Connection connection;
        ConnectionState state{};
        Interest interest = Interest::receive;  // what the poller waits for
        Clock::time_point deadline{};           // the deadline for what the connection wants
    };

    bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

    void run_once();
    void update_date();
    void accept_clients();
    void add_client(Accepted accepted);
    void pause_accepting();
    void resume_accepting();
    void on_watch_failed(int fd);
    void serve(Client& client);
    void update_state(Client& client, const ConnectionState& state);
    void watch(Client& client, Interest interest);
    void close_client(Client& client);
    void evict_stalled();
    void close_overdue();
    void drain();

    // TODO(14): the log, and an AccessLog if requests are to be logged.
    const std::unique_ptr<Handler> handler_;
    const Limits limits_;
    const std::atomic<bool>& stopping_;
    ConnectionLimiter& limiter_;
    Fd listener_;
    Poller poller_;
    BufferPool pool_;
    CommonHeaders common_headers_;
    std::vector<std::unique_ptr<Client>> clients_;  // indexed by descriptor
    std::vector<std::unique_ptr<Client>> closed_;   // to be closed after the batch
    std::vector<Client*>
        eviction_candidates_;  // reserved for evict_stalled(), which must not allocate
    std::size_t client_count_ = 0;
    Clock::time_point now_;
    Clock::time_point next_date_;
    Clock::time_point next_sweep_;
    bool accepting_ = true;
};

}  // namespace web
