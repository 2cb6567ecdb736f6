#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "buffer.h"

namespace web {

/// Lends buffers to the connections of one thread while they have bytes to hold. The buffer
/// returned last is lent first, because it's still in the cache.
class BufferPool {
public:
    /// Large enough for almost any head within the limits, and for many pipelined requests.
    static constexpr std::size_t buffer_size = 64 * 1024;
    /// With this many idle buffers, a returned one is freed.
    static constexpr std::size_t max_idle = 64;

    Buffer acquire() {
        if (count_ == 0) return Buffer(buffer_size);
        return std::move(idle_[--count_]);
    }

    /// Discards the buffer's contents. A buffer that has grown is freed.
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
