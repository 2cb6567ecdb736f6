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
    /// Large enough for any head within the limits, for many pipelined requests, and for a piece of
    /// a body so long that the system calls cost little compared with copying the bytes.
    static constexpr std::size_t buffer_size = 128 * 1024;
    /// With this many idle buffers, a returned one is freed.
    static constexpr std::size_t max_idle = 64;

    // TODO(13.2): take a bound in bytes, and throw std::bad_alloc where it would be exceeded. Count
    // a buffer when it is allocated and when it is freed, not when it is lent.
    // TODO(13.3): add acquire_small(), which lends a buffer of 4 KiB to a connection that only
    // waits, and keep idle buffers of both sizes.
    // TODO(13.4): add is_nearly_exhausted() and has_recovered(): an eighth of the bound is a
    // reserve, and a quarter has to be free again after an eviction, but never less than two
    // buffers.
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
