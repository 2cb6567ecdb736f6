#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>

#include "fd.h"
#include "file.h"

namespace web {

// What differs by system: files_linux.cpp, files_freebsd.cpp, files_macos.cpp or files_other.cpp.

/// How every file is opened: a FIFO without a writer must not be waited for (open(2)).
inline constexpr int open_flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

/// Opens what `name` is beneath the root, whatever kind of file it is, and follows no link out. No
/// number, and errno, if there is none.
Fd open_beneath(const Fd& root, const char* name);

/// The same by steps from directory to directory, which works everywhere but follows no link.
Fd walk_beneath(const Fd& root, const char* name);

// TODO(10): modified_ns(const struct stat&), in each system's file: stat(2) has the nanoseconds in
// st_mtim, macOS in st_mtimespec. A file of the year 2300 must not overflow.
std::size_t size_of(std::span<const iovec> parts);

/// Sends the head, then at most `most` bytes of the range. How many bytes of both were sent; -1 and
/// errno; 0 if there is no head and the file has become too short.
ssize_t send_with_file(const Fd& socket, std::span<const iovec> head, const FileRange& range,
                       std::size_t limit);

}  // namespace web
