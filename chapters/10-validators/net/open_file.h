#pragma once

#include <sys/types.h>

#include <cstddef>

#include "fd.h"

namespace web {

/// An open file, closed when destroyed. Not shared.
class File {
public:
    File() = default;
    explicit File(Fd fd) : fd_(std::move(fd)) {}
    File(File&&) noexcept = default;
    File& operator=(File&&) noexcept = default;
    /// Defined in open_file.cpp, so that code that only passes a file on makes no system call.
    ~File();

    const Fd& fd() const { return fd_; }

private:
    Fd fd_;
};

// TODO(10.1): a FileVersion: when the file was last written to, in nanoseconds since 1970, and its
// size; and a function that returns that time in seconds, for dates.
// TODO(10.1): an OpenFile: the file and its FileVersion, from which a part or the whole can be
// taken.
/// A range of bytes of a file to send.
struct FileRange {
    File file;
    off_t offset = 0;
    std::size_t size = 0;
};

}  // namespace web
