#pragma once

#include <cassert>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace web {

/// Bytes that come in at the back and leave at the front. Owns its memory; not shared.
class Buffer {
public:
    std::string_view view() const { return {bytes_.get() + begin_, end_ - begin_}; }
    std::size_t size() const { return end_ - begin_; }
    bool empty() const { return begin_ == end_; }

    /// At least `count` bytes of room behind the last byte. May move what is held.
    std::span<char> prepare(std::size_t count) {
        if (capacity_ - end_ < count) move_to_front(count);
        return {bytes_.get() + end_, capacity_ - end_};
    }

    /// `count` bytes of the room have been written.
    void commit(std::size_t count) {
        assert(count <= capacity_ - end_);
        end_ += count;
    }

    /// The first `count` bytes are no longer needed.
    void consume(std::size_t count) {
        assert(count <= size());
        begin_ += count;
        if (empty()) begin_ = end_ = 0;
    }

    void append(std::string_view bytes) {
        std::memcpy(prepare(bytes.size()).data(), bytes.data(), bytes.size());
        commit(bytes.size());
    }

    /// Gives the memory back as well.
    void release() { *this = Buffer(); }

private:
    void move_to_front(std::size_t room) {
        const std::size_t size = end_ - begin_;
        if (capacity_ - size >= room) {
            std::memmove(bytes_.get(), bytes_.get() + begin_, size);
        } else {
            // TODO(6.3): a head that comes in sixteen pieces is copied fifteen times. Twice the
            // capacity, at least.
            auto larger = std::make_unique_for_overwrite<char[]>(size + room);
            if (size > 0) std::memcpy(larger.get(), bytes_.get() + begin_, size);
            bytes_ = std::move(larger);
            capacity_ = size + room;
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
