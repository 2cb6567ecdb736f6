#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace web {

/// Memory for objects that do not outlive this one: from a buffer that the caller owns, and from
/// the heap when the buffer is full. All is freed at the end and nothing before. It calls no
/// destructors of the objects made there. Not thread-safe.
class Scratch {
public:
    explicit Scratch(std::span<std::byte> buffer) noexcept
        : next_(buffer.data()), left_(buffer.size()) {}

    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    /// Returns `size` bytes; the alignment is a power of two. Throws std::bad_alloc.
    void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
        void* place = next_;
        if (std::align(alignment, size, place, left_) == nullptr) {
            return spill(size, alignment);
        }
        next_ = static_cast<std::byte*>(place) + size;
        left_ -= size;
        return place;
    }

private:
    void* spill(std::size_t size, std::size_t alignment) {
        std::size_t space = size + alignment;
        spilled_.push_back(std::make_unique_for_overwrite<std::byte[]>(space));
        void* place = spilled_.back().get();
        return std::align(alignment, size, place, space);
    }

    std::byte* next_;
    std::size_t left_;  // bytes
    std::vector<std::unique_ptr<std::byte[]>> spilled_;
};

}  // namespace web
