#pragma once

#include <sys/epoll.h>
#include <sys/event.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "descriptor.h"
#include "filter_ops.h"

namespace hotpath {

/// One filter of one queue: its notes, and the epoll set that watches them.
///
/// A set of its own, because epoll knows a descriptor once a set, with one word of events and one
/// way to report them, and a queue knows it once a filter. One event of the set is one kevent: the
/// set is asked for as many as there is room for, and keeps the rest, in turn.
///
/// The set, not the table of notes, knows what was closed: epoll(7) watches open files. Not
/// thread-safe: its queue sees to that.
class Filter {
public:
    /// The set becomes readable in `queue`, an epoll descriptor, under the number `index`.
    /// Throws std::system_error.
    Filter(const FilterOps& ops, int queue, std::uint32_t index);

    int set() const { return set_.number(); }

    /// Returns an error number of kevent(2), or 0.
    int apply(const struct kevent& change);

    /// Fills in events that are pending, as many as fit, and returns their number.
    std::size_t collect(std::span<struct kevent> events);

    /// The socket's error was taken by another filter.
    void learn_error(std::uintptr_t ident, int error);

private:
    Note* find(std::uintptr_t ident);
    int missing(std::uintptr_t ident) const;
    int add(const struct kevent& change);
    int modify(Note& note, const struct kevent& change);
    void remove(const Note& note);
    bool report(const epoll_event& ready, struct kevent& event);
    std::uint32_t interest(const Note& note) const;
    int control(int operation, const Note& note) const;
    bool enter_queue(const Descriptor& set) const;
    void rebuild();

    const FilterOps& ops_;
    int queue_;
    std::uint32_t index_;
    Descriptor set_;
    std::unordered_map<std::uint64_t, Note> notes_;              // by serial
    std::unordered_map<std::uintptr_t, std::uint64_t> serials_;  // by ident
    std::uint64_t next_serial_ = 1;
    std::vector<epoll_event> ready_;
    bool has_strays_ = false;  // events of files that are closed here
};

}  // namespace hotpath
