#pragma once  // TODO(lab-intrusive-list): let an element have its neighbours in itself

#include <algorithm>
#include <list>

namespace web {

// The base of what can be in a list: at most in one at a time.
class Link {
public:
    Link() = default;

    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
};

// Elements that belong to others, in the order in which they came. Not for several threads.
template <class T>
class List {
public:
    List() = default;

    // The elements live on, in no list.
    ~List() = default;

    List(const List&) = delete;
    List& operator=(const List&) = delete;

    bool is_empty() const noexcept { return elements_.empty(); }

    // Null if there is none.
    T* front() const noexcept { return is_empty() ? nullptr : elements_.front(); }

    // It must be in no list.
    void push_back(T& element) { elements_.push_back(&element); }

    // It must be in this list.
    void remove(T& element) noexcept { elements_.erase(std::ranges::find(elements_, &element)); }

    // Calls visit with each; that may remove or end the one it is called with.
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
