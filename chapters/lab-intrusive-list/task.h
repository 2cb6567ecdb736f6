#pragma once  // TODO(lab-intrusive-list): store the links to its neighbours in the element itself

#include <algorithm>
#include <list>

namespace web {

// The base of every list element. An element is in at most one list at a time.
class Link {
public:
    Link() = default;

    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
};

// Elements in the order in which they were added. The list does not own them. Not thread-safe.
template <class T>
class List {
public:
    List() = default;

    // The elements survive and are then in no list.
    ~List() = default;

    List(const List&) = delete;
    List& operator=(const List&) = delete;

    bool is_empty() const noexcept { return elements_.empty(); }

    // Null if the list is empty.
    T* front() const noexcept { return is_empty() ? nullptr : elements_.front(); }

    // The element must not be in a list.
    void push_back(T& element) { elements_.push_back(&element); }

    // The element must be in this list.
    void remove(T& element) noexcept { elements_.erase(std::ranges::find(elements_, &element)); }

    // Calls visit with each element. The call may remove or destroy the element it is given.
    template <class Visit>
    void for_each(Visit visit) const {
        for (auto next = elements_.begin(); next != elements_.end();) {
            visit(**next++);
        }
    }

private:
    std::list<T*> elements_;
};

}  // namespace web
