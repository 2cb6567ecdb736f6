#pragma once  // TODO(lab-small-recipes): keep the first few elements inside

#include <cstddef>
#include <utility>
#include <vector>

namespace web {

/// Elements in order, the first few within the object itself, all on the heap when they are more.
/// It stays where it is: its elements may be inside it. One thread at a time.
template <class T, std::size_t inline_capacity>
class SmallVector {
public:
    SmallVector() = default;
    SmallVector(const SmallVector&) = delete;
    SmallVector& operator=(const SmallVector&) = delete;

    /// Ends what begin() and operator[] gave before. Throws std::bad_alloc.
    void push_back(T element) { elements_.push_back(std::move(element)); }

    std::size_t size() const noexcept { return elements_.size(); }

    T& operator[](std::size_t index) noexcept { return elements_[index]; }

    T* begin() noexcept { return elements_.data(); }
    T* end() noexcept { return elements_.data() + elements_.size(); }

private:
    std::vector<T> elements_;
};

}  // namespace web
