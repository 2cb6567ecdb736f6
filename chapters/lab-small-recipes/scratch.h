#pragma once  // TODO(lab-small-recipes): take it from the buffer while there is space

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
    explicit Scratch(std::span<std::byte>) noexcept {}

    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    /// Returns `size` bytes; the alignment is a power of two. Throws std::bad_alloc.
    void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
        return spill(size, alignment);
    }

private:
    void* spill(std::size_t size, std::size_t alignment) {
        std::size_t space = size + alignment;
        spilled_.push_back(std::make_unique_for_overwrite<std::byte[]>(space));
        void* place = spilled_.back().get();
        return std::align(alignment, size, place, space);
    }

    std::vector<std::unique_ptr<std::byte[]>> spilled_;
};

}  // namespace web
