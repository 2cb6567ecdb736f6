#pragma once  // TODO(lab-small-recipes): store the first few elements inside the object

#include <cstddef>
#include <utility>
#include <vector>

namespace web {

/// Elements in order: the first few are stored in the object itself, but if there are more, all are
/// on the heap. Cannot be moved, because its elements may be inside it. Not thread-safe.
template <class T, std::size_t inline_capacity>
class SmallVector {
public:
    SmallVector() = default;
    SmallVector(const SmallVector&) = delete;
    SmallVector& operator=(const SmallVector&) = delete;

    /// Invalidates what begin() and operator[] returned before. Throws std::bad_alloc.
    void push_back(T element) { elements_.push_back(std::move(element)); }

    std::size_t size() const noexcept { return elements_.size(); }

    T& operator[](std::size_t index) noexcept { return elements_[index]; }

    T* begin() noexcept { return elements_.data(); }
    T* end() noexcept { return elements_.data() + elements_.size(); }

private:
    std::vector<T> elements_;
};

}  // namespace web
