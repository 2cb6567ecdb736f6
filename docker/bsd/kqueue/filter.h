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
/// Each filter has its own set, because epoll knows a descriptor once per set, with one word of
/// events and one way to report them, while a queue knows it once per filter. One event of the set
/// is one kevent. The set is asked for as many events as fit; it keeps the others and reports them
/// later, in turn.
///
/// The set, not the table of notes, knows which files were closed: epoll(7) watches open files. Not
/// thread-safe: the queue that owns the filter locks its mutex.
class Filter {
public:
    /// The set becomes readable in `queue`, an epoll descriptor, under the number `index`.
    /// Throws std::system_error.
    Filter(const FilterOps& ops, int queue, std::uint32_t index);

    int set() const { return set_.number(); }

    /// Returns an error number of kevent(2), or 0.
    int apply(const struct kevent& change);

    /// Fills in pending events, as many as fit, and returns their number.
    std::size_t collect(std::span<struct kevent> events);

    /// Stores the socket's error, which another filter has already read and so cleared.
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
    bool has_strays_ = false;  // epoll reported files whose descriptors are closed
};

}  // namespace hotpath
