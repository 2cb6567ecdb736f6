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
    /// Holds any head within the limits, many pipelined requests, and of a body so much that the
    /// calls for the next piece cost little beside the bytes.
    static constexpr std::size_t buffer_size = 128 * 1024;
    /// More idle buffers than these go back to the allocator.
    static constexpr std::size_t max_idle = 64;

    // TODO(13): no more than a bound. Who counts, and when does memory run out while it counts?
    // Then a small buffer, 4 KiB, for what only waits; and whether somebody should give back.
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
