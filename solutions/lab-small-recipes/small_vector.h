#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace web {

/// Elements in order: the first few are stored in the object itself, but if there are more, all are
/// on the heap. Cannot be moved, because its elements may be inside it. Not thread-safe.
template <class T, std::size_t inline_capacity>
class SmallVector {
    static_assert(std::is_nothrow_move_constructible_v<T>, "or a spill could lose half of them");

public:
    SmallVector() = default;
    SmallVector(const SmallVector&) = delete;
    SmallVector& operator=(const SmallVector&) = delete;

    ~SmallVector() {
        std::destroy(begin(), end());
        release();
    }

    /// Invalidates what begin() and operator[] returned before. Throws std::bad_alloc.
    void push_back(T element) {
        if (size_ == capacity_) {
            grow();
        }
        std::construct_at(data_ + size_, std::move(element));
        ++size_;
    }

    std::size_t size() const noexcept { return size_; }

    T& operator[](std::size_t index) noexcept { return data_[index]; }

    T* begin() noexcept { return data_; }
    T* end() noexcept { return data_ + size_; }

private:
    void grow() {
        T* const larger = std::allocator<T>().allocate(2 * capacity_);
        std::uninitialized_move(begin(), end(), larger);
        std::destroy(begin(), end());
        release();
        data_ = larger;
        capacity_ *= 2;
    }

    void release() noexcept {
        if (data_ != inside()) {
            std::allocator<T>().deallocate(data_, capacity_);
        }
    }

    T* inside() noexcept { return reinterpret_cast<T*>(room_); }

    alignas(T) std::byte room_[inline_capacity * sizeof(T)];
    T* data_ = inside();
    std::size_t size_ = 0;
    std::size_t capacity_ = inline_capacity;
};

}  // namespace web
