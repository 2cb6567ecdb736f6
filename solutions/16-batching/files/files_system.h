#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include <cstdint>

#include "fd.h"

namespace web {

// The parts that differ by system: files_linux.cpp, files_freebsd.cpp, files_macos.cpp or
// files_other.cpp.

/// The flags that every file is opened with. O_NONBLOCK, because opening a FIFO without a writer
/// would block (open(2)).
inline constexpr int open_flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

/// Opens `name` beneath the root, whatever kind of file it is, without following links that lead
/// out. On failure the Fd owns no descriptor and errno is set.
Fd open_beneath(const Fd& root, const char* name);

/// The same, one directory at a time, which works on every system but follows no links at all.
Fd walk_beneath(const Fd& root, const char* name);

/// When the file was last written to, in nanoseconds since 1970.
std::int64_t modified_ns(const struct stat& status);

/// When the file, its name or its times were last changed, in nanoseconds since 1970. Unlike the
/// modification time, a program cannot set it.
std::int64_t changed_ns(const struct stat& status);

/// A time in nanoseconds since 1970. Times out of the range of 64 bits are clamped: a file may be
/// dated 2300.
std::int64_t nanoseconds(const timespec& time);

}  // namespace web
