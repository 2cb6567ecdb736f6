#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "buffer.h"

namespace web {

/// Lends buffers to the connections of one thread while they have something to hold. The one that
/// came back last is lent first: it is still in the cache.
class BufferPool {
public:
    /// Holds any head within the limits but for the longest, and many pipelined requests.
    static constexpr std::size_t buffer_size = 64 * 1024;
    /// More idle buffers than these go back to the allocator.
    static constexpr std::size_t max_idle = 64;

    Buffer acquire() {
        if (count_ == 0) return Buffer(buffer_size);
        return std::move(idle_[--count_]);
    }

    /// What the buffer holds is forgotten. One that has grown is freed.
    void release(Buffer buffer) {
        if (buffer.capacity() != buffer_size || count_ == max_idle) return;
        buffer.clear();
        idle_[count_++] = std::move(buffer);
    }

private:
    std::array<Buffer, max_idle> idle_;
    std::size_t count_ = 0;
};

}  // namespace web
