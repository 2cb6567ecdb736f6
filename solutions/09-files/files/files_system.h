#pragma once

#include <fcntl.h>
#include <sys/types.h>

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

}  // namespace web
