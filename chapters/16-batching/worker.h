#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <vector>

#include "acceptor.h"
#include "client_stream.h"
#include "connection.h"
#include "connection_limiter.h"
#include "eviction_policy.h"
#include "fd.h"
#include "handler.h"
#include "log.h"
#include "poller.h"
#include "tls.h"
#include "wake_event.h"

namespace web {

/// The size of a cache line in bytes: two threads must not write to the same one. C++ has
/// std::hardware_destructive_interference_size for this, but not on every system.
#if defined(__APPLE__) && defined(__aarch64__)
inline constexpr std::size_t cache_line = 128;
#else
inline constexpr std::size_t cache_line = 64;
#endif

/// How long a client may take for each thing the server waits for.
struct Timeouts {
    std::chrono::seconds idle{60};      // between requests
    std::chrono::seconds head{30};      // for the whole head, however often a byte arrives
    std::chrono::seconds progress{10};  // for a minimum amount of a body or an answer
    std::chrono::seconds linger{2};     // to close its side after its last answer
    std::chrono::seconds stop{1};       // to receive its answer while the server is being stopped
    // Bytes a second. A slower transfer counts as no progress.
    std::uint32_t min_rate = 500;

    std::chrono::seconds timeout_for(Waiting waiting) const;

    /// The minimum number of bytes of a body or an answer that earns a new deadline.
    std::uint64_t min_progress() const;
};

/// One event loop with its poller and clients. Sleeps until a client is ready or a deadline has
/// passed, decides how long to wait for each client, and drops some when resources run short.
/// Belongs to the thread that runs it.
class alignas(cache_line) Worker {
public:
    /// Throws std::system_error. `limiter`, `tls`, `log`, `reload` and `stop` must outlive the
    /// worker. Its clients' buffers take at most `buffers` bytes.
    Worker(Fd listener, std::unique_ptr<Handler> handler, const Timeouts& timeouts,
           std::size_t buffers, ConnectionLimiter& limiter, Tls& tls, Log& log,
           const WakeEvent& reload, const WakeEvent& stop);

    /// Returns when `stop` is signalled and the clients being answered have their answers.
    void run();

private:
    using Clock = std::chrono::steady_clock;

    struct Client {
        ConnectionLimiter::Slot slot;
        ClientStream stream;
        Connection connection;
        ConnectionState state{};
        Interest interest = Interest::receive;  // what the poller waits for
        Clock::time_point deadline{};           // the deadline for what the connection wants
    };

    // One iteration of the loop, and its phases in order.
    void run_once();
    std::chrono::milliseconds before_wait();
    void after_wait(bool is_idle);
    void on_ready(int fd);
    void on_deadline();

    void update_date();
    void reload();
    void close_dropped();
    void on_watch_failed(int fd);
    void add_client(Accepted accepted);
    void serve(Client& client);
    static std::expected<void, IoError> receive_and_send(Client& client);
    void update_state(Client& client, const ConnectionState& state);
    void finish_sending(Client& client);
    void send_close_notify(Client& client);
    void watch(Client& client, Interest interest);
    void drop_client(Client& client);
    void evict_stalled();
    void drain();
    void flush_log();

    const std::unique_ptr<Handler> handler_;
    const Timeouts timeouts_;
    Log& log_;
    const std::unique_ptr<AccessLog> access_log_;  // null: no access log
    const WakeEvent& reload_;
    const WakeEvent& stop_;
    ConnectionLimiter& limiter_;
    Tls& tls_;
    Poller poller_;
    Acceptor acceptor_;
    BufferPool pool_;
    StreamContext stream_context_;
    CommonHeaders common_headers_;
    std::vector<std::unique_ptr<Client>> clients_;  // indexed by descriptor
    std::vector<std::unique_ptr<Client>> dropped_;  // to be closed after the batch
    // TODO(16.2): ring_, a std::unique_ptr<SendRing> that the constructor takes and that is null if
    // there is none, and batch_, a std::vector<Send> with space for SendRing::capacity of them.
    EvictionPolicy eviction_policy_;
    std::size_t client_count_ = 0;
    Clock::time_point now_;
    Clock::time_point next_date_;
    Clock::time_point last_sweep_;     // when all deadlines were last checked
    Clock::time_point next_deadline_;  // when they have to be checked again
    Clock::time_point drain_end_ = Clock::time_point::max();
    bool busy_ = false;  // whether the last wait() reported anything
    bool stopping_ = false;
};

}  // namespace web
