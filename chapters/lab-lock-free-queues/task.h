// TODO(lab-lock-free-queues): four queues without a lock, one for each combination of threads
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace web {

// The unit, in bytes, in which processors take memory from each other.
#if defined(__APPLE__) && defined(__aarch64__)
inline constexpr std::size_t cache_line = 128;
#else
inline constexpr std::size_t cache_line = 64;
#endif

// First in, first out, for any number of threads. Holds up to `capacity` elements, 1 or more.
template <class T>
class LockedQueue {
public:
    // Allocates all memory that it will ever need. Throws std::bad_alloc.
    explicit LockedQueue(std::size_t capacity) : ring_(capacity) {}

    // Returns false if the queue is full; the value is then not moved from.
    bool push(T&& value) noexcept {
        const std::lock_guard lock(mutex_);
        if (size_ == ring_.size()) {
            return false;
        }
        ring_[(first_ + size_++) % ring_.size()].emplace(std::move(value));
        return true;
    }

    // Returns nothing if the queue is empty.
    std::optional<T> pop() noexcept {
        const std::lock_guard lock(mutex_);
        if (size_ == 0) {
            return std::nullopt;
        }
        std::optional<T> value = std::move(ring_[first_]);
        ring_[first_].reset();
        first_ = (first_ + 1) % ring_.size();
        --size_;
        return value;
    }

private:
    std::mutex mutex_;
    std::vector<std::optional<T>> ring_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

template <class T>
using SpscQueue = LockedQueue<T>;
template <class T>
using MpscQueue = LockedQueue<T>;
template <class T>
using SpmcQueue = LockedQueue<T>;
template <class T>
using MpmcQueue = LockedQueue<T>;

}  // namespace web
