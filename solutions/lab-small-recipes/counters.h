#pragma once

#include <atomic>
#include <cstdint>

namespace web {

/// A count that any thread may raise or read.
class SharedCounter {
public:
    /// Relaxed: nobody reads anything else on the strength of it. No count is lost in any order.
    void add() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }

    std::uint64_t value() const noexcept { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_ = 0;
};

/// A count that one thread raises and any thread may read.
class OwnCounter {
public:
    /// By its own thread only: nobody comes between the load and the store.
    void add() noexcept {
        count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    std::uint64_t value() const noexcept { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_ = 0;
};

}  // namespace web
