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

    /// Whether sendfile(2) was refused for this file, so that its bytes have to be copied.
    bool needs_copy() const { return needs_copy_; }
    void set_needs_copy() const { needs_copy_ = true; }

private:
    Fd fd_;
    mutable bool needs_copy_ = false;  // a property of the file, found out while it is sent
};

// TODO(10.1): an enum class Distinct, as representation.h asks for it: what tells a version from
// all others of its size may be nothing (no), its time (by_nanosecond) or even the second of that
// time (by_second).
// TODO(10.1): a FileVersion: when the file was last written to, in nanoseconds since 1970, its
// size, its Distinct, and a function that returns the time in seconds, for dates.
// TODO(10.1): an OpenFile: the file and its FileVersion, from which a part or the whole can be
// taken.
/// A range of bytes of a file to send.
struct FileRange {
    File file;
    off_t offset = 0;
    std::size_t size = 0;
};

}  // namespace web
