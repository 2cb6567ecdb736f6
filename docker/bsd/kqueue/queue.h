#pragma once

#include <sys/event.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "filter.h"

namespace hotpath {

/// When to stop waiting; without a value, never.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// One kqueue: an epoll of four epolls, one for each filter. Thread-safe.
class Queue {
public:
    /// Wraps an epoll descriptor that the caller owns and may close at any time. Throws
    /// std::system_error.
    explicit Queue(int number);

    /// Whether the number still refers to the epoll descriptor that this queue was created with.
    bool is_open() const;

    /// Returns an error number of kevent(2), or 0.
    int apply(const struct kevent& change);

    /// Waits for events and fills them in. Returns how many, or -1 with errno set.
    int wait(std::span<struct kevent> events, Deadline deadline);

private:
    std::size_t collect(std::span<struct kevent> events, std::span<const epoll_event> ready);
    void share_errors(std::span<const struct kevent> events);

    const int number_;
    mutable std::mutex mutex_;  // guards the members below; not held while waiting
    std::array<Filter, filter_count> filters_;
    std::size_t first_ = 0;  // the filter to be asked first
};

}  // namespace hotpath
