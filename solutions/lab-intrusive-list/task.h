#pragma once

#include <utility>

namespace web {

template <class T>
class List;

// The base of every list element. An element is in at most one list at a time, and its destructor
// removes it.
class Link {
public:
    Link() = default;
    ~Link() { unlink(); }

    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

private:
    template <class T>
    friend class List;

    void unlink() noexcept {
        previous_->next_ = next_;
        next_->previous_ = previous_;
        previous_ = next_ = this;
    }

    Link* previous_ = this;
    Link* next_ = this;
};

// Elements in the order in which they were added. The list does not own them. Not thread-safe.
template <class T>
class List {
public:
    List() = default;

    // The elements survive and are then in no list.
    ~List() {
        while (!is_empty()) {
            ends_.next_->unlink();
        }
    }

    List(const List&) = delete;
    List& operator=(const List&) = delete;

    bool is_empty() const noexcept { return ends_.next_ == &ends_; }

    // Null if the list is empty.
    T* front() const noexcept { return is_empty() ? nullptr : static_cast<T*>(ends_.next_); }

    // The element must not be in a list.
    void push_back(T& element) noexcept {
        Link& link = element;
        link.next_ = &ends_;
        link.previous_ = std::exchange(ends_.previous_, &link);
        link.previous_->next_ = &link;
    }

    // The element must be in this list.
    void remove(T& element) noexcept { static_cast<Link&>(element).unlink(); }

    // Calls visit with each element. The call may remove or destroy the element it is given.
    template <class Visit>
    void for_each(Visit visit) const {
        for (Link* link = ends_.next_; link != &ends_;) {
            visit(static_cast<T&>(*std::exchange(link, link->next_)));
        }
    }

private:
    // next of the last element and previous of the first, so there are no special cases
    Link ends_;
};

}  // namespace web
