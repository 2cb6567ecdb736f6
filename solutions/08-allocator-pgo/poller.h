#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fd.h"

namespace web {

/// What a descriptor is waited for: one thing at a time.
enum class Interest : std::uint8_t { receive, send };

/// Waits for many descriptors at once, level-triggered: epoll(7) or kqueue(2). A descriptor that
/// is closed leaves by itself. Belongs to one thread.
class Poller {
public:
    /// The most descriptors that one wait() reports.
    static constexpr std::size_t batch = 256;

    /// Throws std::system_error if the kernel has no queue for us.
    Poller();

    /// False if the kernel lacks the memory to watch one more. With kqueue(2) that shows in the
    /// next wait(): see refused().
    bool add(int fd, Interest interest);

    /// From the other interest to this one; false as above.
    bool change(int fd, Interest interest);

    void remove(int fd, Interest interest);

    /// The descriptors that are ready, or failed: receiving or sending will tell. None if the time
    /// ran out or a signal came. Valid until the next call.
    std::span<const int> wait(std::chrono::milliseconds timeout);

    /// The descriptors that the last wait() was to begin to watch, and could not. Valid as above.
    std::span<const int> refused() const { return refused_; }

private:
    /// A change that the kernel has not been told of: with epoll(7) there is none.
    struct Note {
        int fd;
        Interest interest;
        std::uint16_t flags;
    };

    Fd queue_;
    std::vector<Note> notes_;
    std::vector<int> refused_;
    std::array<int, batch> ready_;
};

}  // namespace web
