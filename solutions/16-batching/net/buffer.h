#pragma once

#include <cassert>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace web {

/// A byte queue: appended at the back, consumed at the front. Owns its memory. Not thread-safe. As
/// small as a pointer and as cheap to move, because the positions are stored in the same block,
/// before the bytes.
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(std::size_t capacity) : block_(allocate(capacity)) {}
    Buffer(Buffer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~Buffer() {
        if (block_) ::operator delete(block_);
    }

    /// Whether memory is allocated. If not, prepare() allocates it.
    explicit operator bool() const { return block_ != nullptr; }

    std::string_view view() const {
        return block_ ? std::string_view(bytes() + block_->begin, size()) : std::string_view();
    }
    std::size_t size() const { return block_ ? block_->end - block_->begin : 0; }
    std::size_t capacity() const { return block_ ? block_->capacity : 0; }
    bool empty() const { return size() == 0; }

    /// At least `count` bytes of writable space after the last byte. May move the bytes already
    /// held, which invalidates views of them.
    std::span<char> prepare(std::size_t count) {
        if (!block_ || block_->capacity - block_->end < count) grow_or_compact(count);
        return {bytes() + block_->end, block_->capacity - block_->end};
    }

    /// Adds the first `count` bytes of the writable space, which the caller has filled, to the
    /// contents.
    void commit(std::size_t count) {
        assert(count <= block_->capacity - block_->end);
        block_->end += count;
    }

    /// Removes the first `count` bytes.
    void consume(std::size_t count) {
        assert(count <= size());
        if (count == 0) return;
        block_->begin += count;
        if (block_->begin == block_->end) block_->begin = block_->end = 0;
    }

    void clear() { block_->begin = block_->end = 0; }

    void append(std::string_view bytes) {
        std::memcpy(prepare(bytes.size()).data(), bytes.data(), bytes.size());
        commit(bytes.size());
    }

private:
    struct Block {
        std::size_t capacity;
        std::size_t begin = 0;
        std::size_t end = 0;
    };

    static Block* allocate(std::size_t capacity) {
        return new (::operator new(sizeof(Block) + capacity)) Block{capacity};
    }

    char* bytes() const { return reinterpret_cast<char*>(block_ + 1); }

    void grow_or_compact(std::size_t count);

    Block* block_ = nullptr;
};

}  // namespace web
