#pragma once

#include <sys/event.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "descriptor.h"

namespace hotpath {

/// Distinguishes a file from a later one that got the same descriptor number. All eventfd(2) files
/// and the like share one inode.
struct File {
    dev_t device;
    ino_t inode;

    bool operator==(const File&) const = default;
};

/// Returns nothing if the descriptor is closed.
std::optional<File> file_of(int fd);

/// One kevent of a queue, "identified by the (ident, filter) pair" (kqueue(2)).
struct Note {
    /// The event as it was registered. Of its flags it keeps the lasting ones: EV_ONESHOT,
    /// EV_CLEAR, EV_RECEIPT, EV_DISPATCH, and EV_DISABLE while it is disabled.
    struct kevent event;
    /// Identifies the note in epoll's events. Not the descriptor, whose number may refer to another
    /// file by now.
    std::uint64_t serial;
    /// The timerfd(2) of a timer or the eventfd(2) of a user event.
    Descriptor own;
    /// The identity of the source when it was registered.
    std::optional<File> file;
    /// A socket's error, once it has been read and so cleared.
    int error = 0;

    /// The descriptor that epoll watches.
    int source() const { return own.number() >= 0 ? own.number() : static_cast<int>(event.ident); }
    /// Whether the source is still the file that was registered.
    bool is_current() const { return file == file_of(source()); }
    bool enabled() const { return (event.flags & EV_DISABLE) == 0; }
};

/// The operations in which the filters differ. The BSD kernels have a table of the same name.
struct FilterOps {
    short filter;
    bool watches_descriptors;  // descriptors of the caller
    std::uint32_t interest;    // epoll events that may have to be reported

    /// Applies `data` and `fflags` of a change. A timer or user event without a descriptor is a new
    /// one. Returns an error number, or 0.
    int (*change)(Note& note, const struct kevent& change);

    /// "The filter is also run when the user attempts to retrieve the kevent": fills in `data`,
    /// `fflags` and EV_EOF. Returns false if there is nothing to report after all.
    bool (*report)(Note& note, std::uint32_t ready, struct kevent& event);
};

inline constexpr std::size_t filter_count = 4;
extern const std::array<FilterOps, filter_count> filter_table;

}  // namespace hotpath
