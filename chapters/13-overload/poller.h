#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fd.h"
#include "interest.h"

namespace web {

/// Waits for many descriptors at once, level-triggered: epoll(7) or kqueue(2). A descriptor that
/// is closed leaves by itself. Belongs to one thread.
class Poller {
public:
    /// The most descriptors that one wait() reports.
    static constexpr std::size_t batch = 256;

    /// So many changes between two waits need no memory.
    static constexpr std::size_t max_changes = 2 * batch;

    /// Throws std::system_error if the kernel has no queue for us.
    Poller();

    /// Whoever cannot be watched is told by failed().
    void add(int fd, Interest interest);

    /// From the other interest to this one; fails as above.
    void change(int fd, Interest interest);

    void remove(int fd, Interest interest);

    /// The descriptors that are ready, or failed: receiving or sending will tell. None if the time
    /// ran out or a signal came. Valid until the next call.
    std::span<const int> wait(std::chrono::milliseconds timeout);

    /// The descriptors that the kernel had no memory to watch, since the last wait() began. Nothing
    /// will be heard of them. Valid until the next wait().
    std::span<const int> failed() const { return failed_; }

private:
    /// What the kernel is told with the next wait(): with epoll(7) there is nothing.
    struct Change {
        int fd;
        Interest interest;
        std::uint16_t flags;
    };

    Fd queue_;
    std::vector<Change> changes_;
    std::vector<int> failed_;
    std::array<int, batch> ready_;
};

}  // namespace web
