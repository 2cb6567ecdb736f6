#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "client.h"

namespace open_loop {

struct Plan {
    double rate = 100;                  ///< Requests per second.
    std::chrono::seconds duration{10};  ///< How long requests become due.
    std::chrono::seconds grace{30};     ///< How long their answers may then still take.
    std::size_t connections = 50;       ///< At most; opened when they are needed.
};

/// Sends request k when it is due, which is k / rate seconds after the start. If no connection is
/// free then, the request waits for one, and that wait is part of its latency. A server that stalls
/// therefore makes every request slow that became due meanwhile (G. Tene, "How NOT to Measure
/// Latency": coordinated omission).
class Generator {
public:
    using Clock = std::chrono::steady_clock;

    /// `request` is sent as it is.
    Generator(const Address& server, std::string request, const Plan& plan);

    /// Returns when all are answered or the grace is over. Throws std::system_error if a socket
    /// cannot be made or select(2) fails.
    void run();

    /// Prints a line for each request: when it was due, when it was sent and when it was over, in
    /// µs after the start (-1: never); whether all connections were busy when it became due (1 or
    /// 0); and `answered`, `status`, `failed` or `waiting`.
    void print() const;

    static constexpr std::size_t max_connections = 1000;  ///< What select(2) can watch: FD_SETSIZE.

private:
    struct Request {
        Clock::time_point due;
        bool queued;
        std::optional<Clock::time_point> sent{};
        std::optional<Clock::time_point> over{};
        Outcome outcome = Outcome::failed;
    };

    bool finished(Clock::time_point now) const;
    void make_due(Clock::time_point now);
    void send_waiting();
    std::optional<std::size_t> free_client();
    void wait(Clock::time_point now);
    void proceed(std::size_t client);
    Clock::duration until_next_due(Clock::time_point now) const;
    long long after_start(const std::optional<Clock::time_point>& when) const;

    Address server_;
    std::string request_;
    Plan plan_;
    std::size_t planned_;
    Clock::time_point start_;
    std::vector<Request> requests_;
    std::deque<std::size_t> waiting_;  ///< Requests that are due and have no connection yet.
    std::vector<Client> clients_;
    std::vector<std::size_t> current_;  ///< Which request each client is sending.
    std::size_t in_flight_ = 0;
};

}  // namespace open_loop
