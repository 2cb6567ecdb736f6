#pragma once

#include <cassert>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace web {

/// A byte queue: appended at the back, consumed at the front. Owns its memory. Not thread-safe.
class Buffer {
public:
    std::string_view view() const { return {bytes_.get() + begin_, end_ - begin_}; }
    std::size_t size() const { return end_ - begin_; }
    bool empty() const { return begin_ == end_; }

    /// At least `count` bytes of writable space after the last byte. May move the bytes already
    /// held, which invalidates views of them.
    std::span<char> prepare(std::size_t count) {
        if (capacity_ - end_ < count) move_to_front(count);
        return {bytes_.get() + end_, capacity_ - end_};
    }

    /// Adds the first `count` bytes of the writable space, which the caller has filled, to the
    /// contents.
    void commit(std::size_t count) {
        assert(count <= capacity_ - end_);
        end_ += count;
    }

    /// Removes the first `count` bytes.
    void consume(std::size_t count) {
        assert(count <= size());
        begin_ += count;
        if (empty()) begin_ = end_ = 0;
    }

    void append(std::string_view bytes) {
        std::memcpy(prepare(bytes.size()).data(), bytes.data(), bytes.size());
        commit(bytes.size());
    }

    /// Empties the buffer and frees its memory.
    void release() { *this = Buffer(); }

private:
    void move_to_front(std::size_t space) {
        const std::size_t size = end_ - begin_;
        if (capacity_ - size >= space) {
            std::memmove(bytes_.get(), bytes_.get() + begin_, size);
        } else {
            // TODO(6.3): a head that arrives in sixteen pieces is copied fifteen times. Grow to at
            // least twice the capacity.
            auto larger = std::make_unique_for_overwrite<char[]>(size + space);
            if (size > 0) std::memcpy(larger.get(), bytes_.get() + begin_, size);
            bytes_ = std::move(larger);
            capacity_ = size + space;
        }
        begin_ = 0;
        end_ = size;
    }

    std::unique_ptr<char[]> bytes_;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace web
