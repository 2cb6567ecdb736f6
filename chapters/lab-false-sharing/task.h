#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace web {

// The unit, in bytes, in which processors take memory from each other.
#if defined(__APPLE__) && defined(__aarch64__)
inline constexpr std::size_t cache_line = 128;
#else
inline constexpr std::size_t cache_line = 64;
#endif

// A counter for each worker: only that worker increments it, and any thread may ask for the sum.
class Counters {
public:
    explicit Counters(std::size_t workers) : counters_(workers) {}

    // Called by this worker's thread only, so no other write comes between the load and the store.
    void add(std::size_t worker) noexcept {
        auto& count = counters_[worker].count;
        count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    // The sum of the workers' counts, each at some moment. Relaxed, because no other read depends
    // on it.
    std::uint64_t total() const noexcept {
        std::uint64_t sum = 0;
        for (const Counter& counter : counters_) {
            sum += counter.count.load(std::memory_order_relaxed);
        }
        return sum;
    }

    // The address of a worker's counter.
    const void* place(std::size_t worker) const noexcept { return &counters_[worker].count; }

private:
    // TODO(lab-false-sharing): eight of these share one cache line
    struct Counter {
        std::atomic<std::uint64_t> count = 0;
    };

    std::vector<Counter> counters_;
};

}  // namespace web
