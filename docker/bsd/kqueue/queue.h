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

/// When to give up waiting; never, if there is none.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// One kqueue: an epoll of four epolls, one for each filter. Thread-safe.
class Queue {
public:
    /// Around an epoll descriptor that the caller owns, and closes when it likes. Throws
    /// std::system_error.
    explicit Queue(int number);

    /// Whether the number is still the descriptor that this queue was made around.
    bool is_open() const;

    /// Returns an error number of kevent(2), or 0.
    int apply(const struct kevent& change);

    /// Waits for events and fills them in. Returns how many, or -1 with errno set.
    int wait(std::span<struct kevent> events, Deadline deadline);

private:
    std::size_t collect(std::span<struct kevent> events, std::span<const epoll_event> ready);
    void share_errors(std::span<const struct kevent> events);

    const int number_;
    mutable std::mutex mutex_;  // guards what follows; not held while waiting
    std::array<Filter, filter_count> filters_;
    std::size_t first_ = 0;  // the filter whose turn it is
};

}  // namespace hotpath
