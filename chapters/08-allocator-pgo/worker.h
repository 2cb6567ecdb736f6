#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "connection.h"
#include "fd.h"
#include "poller.h"

namespace web {

/// What two threads must not write to in common (C++ has a name for it, but not on every system).
#if defined(__APPLE__) && defined(__aarch64__)
inline constexpr std::size_t cache_line = 128;
#else
inline constexpr std::size_t cache_line = 64;
#endif

/// One event loop: its listener, its poller, its clients. Decides how many to accept at once and
/// how long to wait for whom. Belongs to the thread that runs it.
class alignas(cache_line) Worker {
public:
    /// A client may be idle between requests for this long,
    static constexpr std::chrono::seconds idle_limit{60};
    /// take this long over a head,
    static constexpr std::chrono::seconds head_limit{30};
    /// and pause for this long in a body, or in reading an answer.
    static constexpr std::chrono::seconds progress_limit{10};
    /// How long a client may go on sending after its last answer,
    static constexpr std::chrono::seconds linger_limit{2};
    /// and how long it may take to finish when the server is being stopped.
    static constexpr std::chrono::seconds stop_limit{1};

    /// Throws std::system_error. `stopping` must outlive the worker.
    Worker(Fd listener, Handler handler, const std::atomic<bool>& stopping);

    /// Returns when `stopping` is set and the clients being answered have their answers.
    void run();

private:
    using Clock = std::chrono::steady_clock;

    struct Client {
        Fd socket;
        Connection connection;
        Interest interest = Interest::receive;
        Connection::Phase phase = Connection::Phase::idle;
        Clock::time_point deadline;
    };

    void run_once();
    void accept_clients();
    void pause_accepting();
    void resume_accepting();
    void give_up(int fd);
    void serve(Client& client);
    bool receive_from(Client& client);
    bool send_to(Client& client);
    void settle(Client& client);
    void set_deadline(Client& client, Connection::Phase phase);
    void drop(Client& client);
    void drop_overdue();
    void finish_clients();

    Handler handler_;
    const std::atomic<bool>& stopping_;
    Fd listener_;
    Poller poller_;
    BufferPool pool_;
    std::vector<std::unique_ptr<Client>> clients_;  // by descriptor
    std::vector<std::unique_ptr<Client>> dropped_;  // closed after the batch
    std::size_t client_count_ = 0;
    Clock::time_point now_;
    Clock::time_point next_sweep_;
    bool accepting_ = true;
};

}  // namespace web
