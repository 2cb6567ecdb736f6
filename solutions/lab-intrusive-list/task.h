#pragma once

#include <utility>

namespace web {

template <class T>
class List;

// The base of what can be in a list: at most in one at a time. An element that dies leaves it.
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

// Elements that belong to others, in the order in which they came. Not for several threads.
template <class T>
class List {
public:
    List() = default;

    // The elements live on, in no list.
    ~List() {
        while (!is_empty()) {
            ends_.next_->unlink();
        }
    }

    List(const List&) = delete;
    List& operator=(const List&) = delete;

    bool is_empty() const noexcept { return ends_.next_ == &ends_; }

    // Null if there is none.
    T* front() const noexcept { return is_empty() ? nullptr : static_cast<T*>(ends_.next_); }

    // It must be in no list.
    void push_back(T& element) noexcept {
        Link& link = element;
        link.next_ = &ends_;
        link.previous_ = std::exchange(ends_.previous_, &link);
        link.previous_->next_ = &link;
    }

    // It must be in this list.
    void remove(T& element) noexcept { static_cast<Link&>(element).unlink(); }

    // Calls visit with each; that may remove or end the one it is called with.
    template <class Visit>
    void for_each(Visit visit) const {
        for (Link* link = ends_.next_; link != &ends_;) {
            visit(static_cast<T&>(*std::exchange(link, link->next_)));
        }
    }

private:
    Link ends_;  // the last one's next and the first one's previous, so no case is special
};

}  // namespace web
