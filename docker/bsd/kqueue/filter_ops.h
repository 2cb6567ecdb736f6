#pragma once

#include <sys/event.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "descriptor.h"

namespace hotpath {

/// Tells a file from another that got its descriptor's number. eventfd(2) and its like share one.
struct File {
    dev_t device;
    ino_t inode;

    bool operator==(const File&) const = default;
};

/// Nothing if the descriptor is closed.
std::optional<File> file_of(int fd);

/// One kevent of a queue, "identified by the (ident, filter) pair" (kqueue(2)).
struct Note {
    /// As it was registered. Of its flags those that last: EV_ONESHOT, EV_CLEAR, EV_DISPATCH, and
    /// EV_DISABLE while it is disabled.
    struct kevent event;
    /// What epoll calls it. Not its descriptor, whose number may name another file by now.
    std::uint64_t serial;
    /// The timerfd(2) of a timer, the eventfd(2) of a user event.
    Descriptor own;
    /// What the source was when it was registered.
    std::optional<File> file;
    /// A socket's, once it was taken.
    int error = 0;

    /// What epoll watches.
    int source() const { return own.number() >= 0 ? own.number() : static_cast<int>(event.ident); }
    /// Whether the source is still the file that was registered.
    bool is_current() const { return file == file_of(source()); }
    bool enabled() const { return (event.flags & EV_DISABLE) == 0; }
};

/// What one filter does unlike the others; the BSD kernels have a table of the same name.
struct FilterOps {
    short filter;
    bool watches_descriptors;  // the caller's
    std::uint32_t interest;    // epoll events that may be news

    /// Takes over `data` and `fflags` of a change. Returns an error number, or 0.
    int (*change)(Note& note, const struct kevent& change);

    /// "The filter is also run when the user attempts to retrieve the kevent": fills in `data`,
    /// `fflags` and EV_EOF. False if there is nothing to report after all.
    bool (*report)(Note& note, std::uint32_t ready, struct kevent& event);
};

inline constexpr std::size_t filter_count = 4;
extern const std::array<FilterOps, filter_count> filter_table;

}  // namespace hotpath
