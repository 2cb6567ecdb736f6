#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <new>
#include <utility>

#include "buffer.h"

namespace web {

/// Lends buffers to the connections of one thread while they have something to hold, and no more
/// than its bound. The one that came back last is lent first: it is still in the cache.
class BufferPool {
public:
    /// Holds any head within the limits, many pipelined requests, and of a body so much that the
    /// calls for the next piece cost little beside the bytes.
    static constexpr std::size_t buffer_size = 128 * 1024;
    /// For what only waits: the most heads fit.
    static constexpr std::size_t small_size = 4 * 1024;
    /// More idle buffers than these go back to the allocator.
    static constexpr std::size_t max_idle = 64;

    /// So many bytes of buffers may be lent at a time. What an answer of the application makes a
    /// buffer grow by is not counted.
    explicit BufferPool(std::size_t bound = std::numeric_limits<std::size_t>::max())
        : bound_(bound) {}

    /// Throws std::bad_alloc if that would be too many.
    Buffer take() {
        require(buffer_size);
        if (count_ == 0) return lend(Buffer(buffer_size));
        return lend(std::move(idle_[--count_]));
    }

    Buffer take_small() {
        require(small_size);
        return lend(Buffer(small_size));
    }

    /// What the buffer holds is forgotten. One that is not of the usual size is freed.
    void give_back(Buffer buffer) {
        lent_ -= counted(buffer);
        if (buffer.capacity() != buffer_size || count_ == max_idle) return;
        buffer.clear();
        idle_[count_++] = std::move(buffer);
    }

    /// Somebody should give back before the next one asks: there may be too little for two more.
    bool is_short() const { return lent_ > bound_ - bound_ / 8; }

    /// Enough was given back.
    bool has_enough() const { return lent_ <= bound_ - bound_ / 4; }

private:
    static std::size_t counted(const Buffer& buffer) {
        return buffer.capacity() <= small_size ? buffer.capacity() : buffer_size;
    }

    void require(std::size_t size) const {
        if (bound_ - lent_ < size) throw std::bad_alloc();
    }

    Buffer lend(Buffer buffer) {
        lent_ += buffer.capacity();
        return buffer;
    }

    const std::size_t bound_;
    std::size_t lent_ = 0;
    std::array<Buffer, max_idle> idle_;
    std::size_t count_ = 0;
};

}  // namespace web
