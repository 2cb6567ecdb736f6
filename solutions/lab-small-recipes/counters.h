#pragma once

#include <atomic>
#include <cstdint>

namespace web {

/// A counter that any thread may increment or read.
class SharedCounter {
public:
    /// Relaxed: no other read depends on it. An increment is never lost, whatever the memory order.
    void add() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }

    std::uint64_t value() const noexcept { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_ = 0;
};

/// A counter that one thread increments and any thread may read.
class OwnCounter {
public:
    /// Called only by the thread that owns it, so no other write comes between the load and the
    /// store.
    void add() noexcept {
        count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    std::uint64_t value() const noexcept { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_ = 0;
};

}  // namespace web
