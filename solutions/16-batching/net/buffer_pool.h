#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <new>
#include <utility>

#include "buffer.h"

namespace web {

/// Lends buffers to the connections of one thread while they have something to hold, up to a bound
/// in bytes. The buffer returned last is lent first, because it is still in the cache.
class BufferPool {
public:
    /// Large enough for any head within the limits, for many pipelined requests, and for a piece of
    /// a body so long that the system calls cost little compared with copying the bytes.
    static constexpr std::size_t buffer_size = 128 * 1024;
    /// For connections that only wait. Most request heads fit.
    static constexpr std::size_t small_size = 4 * 1024;
    /// The minimum bound in bytes: two buffers for a waiting connection, two for one being served.
    static constexpr std::size_t min_bound = 4 * buffer_size;
    /// Idle buffers of one size beyond this number go back to the allocator.
    static constexpr std::size_t max_idle = 64;

    /// `bound` limits the bytes of all buffers, lent or idle. Growth of a buffer by an answer of
    /// the application is not counted.
    explicit BufferPool(std::size_t bound = std::numeric_limits<std::size_t>::max())
        : bound_(bound) {}

    /// Throws std::bad_alloc if the bound would be exceeded.
    Buffer acquire() {
        if (idle_.count == 0) [[unlikely]]
            return allocate(buffer_size);
        return idle_.take();
    }

    Buffer acquire_small() {
        if (idle_small_.count > 0) return idle_small_.take();
        if (idle_.count > 0 && bound_ - allocated_ < small_size) free_buffer(idle_.take());
        return allocate(small_size);
    }

    /// Discards the buffer's contents. A buffer that has grown is freed.
    void release(Buffer buffer) {
        if (buffer.capacity() == buffer_size && idle_.keep(buffer)) [[likely]]
            return;
        if (buffer.capacity() == small_size && idle_small_.keep(buffer)) return;
        free_buffer(std::move(buffer));
    }

    /// Returns whether connections should give buffers back before the next one asks, because it
    /// may need two.
    bool is_nearly_exhausted() const {
        return idle_.count < 2 && bytes_in_use() > bound_ - std::max(bound_ / 8, 2 * buffer_size);
    }

    /// Returns whether enough buffers have been given back.
    bool has_recovered() const {
        return bytes_in_use() <= bound_ - std::max(bound_ / 4, 2 * buffer_size);
    }

private:
    struct Idle {
        Buffer take() { return std::move(buffers[--count]); }

        bool keep(Buffer& buffer) {
            if (count == max_idle) return false;
            buffer.clear();
            buffers[count++] = std::move(buffer);
            return true;
        }

        std::array<Buffer, max_idle> buffers;
        std::size_t count = 0;
    };

    std::size_t bytes_in_use() const {
        return allocated_ - idle_.count * buffer_size - idle_small_.count * small_size;
    }

    Buffer allocate(std::size_t size) {
        while (bound_ - allocated_ < size && idle_small_.count > 0)
            free_buffer(idle_small_.take());
        if (bound_ - allocated_ < size) throw std::bad_alloc();
        Buffer buffer(size);
        allocated_ += size;
        return buffer;
    }

    void free_buffer(Buffer buffer) { allocated_ -= std::min(buffer.capacity(), buffer_size); }

    const std::size_t bound_;
    std::size_t allocated_ = 0;
    Idle idle_;
    Idle idle_small_;
};

}  // namespace web
