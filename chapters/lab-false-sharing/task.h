#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace web {

// What one processor takes from another at a time.
#if defined(__APPLE__) && defined(__aarch64__)
inline constexpr std::size_t cache_line = 128;
#else
inline constexpr std::size_t cache_line = 64;
#endif

// A counter for each worker: it alone counts, and anyone may ask for the sum.
class Counters {
public:
    explicit Counters(std::size_t workers) : counters_(workers) {}

    // By this worker's thread only, so nobody comes between the load and the store.
    void add(std::size_t worker) noexcept {
        auto& count = counters_[worker].count;
        count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    // What each has counted at some moment; relaxed, for nothing else is read on the strength of
    // it.
    std::uint64_t total() const noexcept {
        std::uint64_t sum = 0;
        for (const Counter& counter : counters_) {
            sum += counter.count.load(std::memory_order_relaxed);
        }
        return sum;
    }

    // Where a worker's counter is.
    const void* place(std::size_t worker) const noexcept { return &counters_[worker].count; }

private:
    // TODO(lab-false-sharing): eight of these are on one line
    struct Counter {
        std::atomic<std::uint64_t> count = 0;
    };

    std::vector<Counter> counters_;
};

}  // namespace web
