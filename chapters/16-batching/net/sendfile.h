#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>

#include "fd.h"
#include "open_file.h"

namespace web {

// The part that differs by system: sendfile_linux.cpp, sendfile_freebsd.cpp, sendfile_macos.cpp or
// sendfile_other.cpp. Only socket.cpp uses it. The others fall back to sendfile_copy.cpp.

inline std::size_t size_of(std::span<const iovec> parts) {
    std::size_t size = 0;
    for (const iovec& part : parts)
        size += part.iov_len;
    return size;
}

/// Sends the head, then at most `limit` bytes of the range. Returns the number of bytes sent of
/// both; -1 and errno on failure; 0 if there is no head and the file has become too short.
ssize_t send_with_file(const Fd& socket, std::span<const iovec> head, const FileRange& range,
                       std::size_t limit);

/// The same, by reading a piece and sending it, which works for every file.
ssize_t send_copy(const Fd& socket, std::span<const iovec> head, const FileRange& range,
                  std::size_t limit);

/// Whether the errno of a sendfile(2) that sent nothing means that this file can't be sent so: its
/// file system has no support for it, or a filter of system calls forbids it.
bool is_refused(int error);

}  // namespace web
