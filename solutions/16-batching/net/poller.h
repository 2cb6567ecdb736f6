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

/// Waits for many descriptors at once, level-triggered: epoll(7) or kqueue(2). A closed descriptor
/// is removed automatically. Belongs to one thread.
class Poller {
public:
    /// The maximum number of descriptors that one wait() reports.
    static constexpr std::size_t batch = 256;

    /// Up to this many changes between two waits need no allocation.
    static constexpr std::size_t max_changes = 2 * batch;

    /// No timeout.
    static constexpr std::chrono::milliseconds forever{-1};

    /// Throws std::system_error if the kernel cannot create the queue.
    Poller();

    /// If the descriptor cannot be watched, failed() reports it.
    void add(int fd, Interest interest);

    /// Switches from the other interest to this one. Failures are reported as for add().
    void change(int fd, Interest interest);

    void remove(int fd, Interest interest);

    /// The descriptors that are ready or have failed; the next receive or send shows which. Empty
    /// after the timeout or a signal. Valid until the next call.
    std::span<const int> wait(std::chrono::milliseconds timeout);

    /// The descriptors that the kernel had no memory to watch since the last wait() began. wait()
    /// will never report them. Valid until the next wait().
    std::span<const int> failed() const { return failed_; }

private:
    /// A change that the next wait() passes to the kernel. epoll(7) needs none.
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
