#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "fd.h"

namespace web {

/// An open file, closed when it goes. Not shared.
// TODO(11): shared, by a count that is a plain number; and perhaps bytes in memory instead.
class File {
public:
    File() = default;
    explicit File(Fd fd) : fd_(std::move(fd)) {}
    File(File&&) noexcept = default;
    File& operator=(File&&) noexcept = default;
    /// Not here: who only hands a file on makes no system call.
    ~File();

    const Fd& fd() const { return fd_; }

private:
    Fd fd_;
};

/// What tells one version of a file from every other. Nanoseconds, for within a second there may be
/// two.
struct FileVersion {
    std::int64_t modified_ns = 0;  // since 1970
    std::uint64_t size = 0;

    std::chrono::sys_seconds modified() const {
        const std::chrono::nanoseconds since_1970(modified_ns);
        return std::chrono::sys_seconds(std::chrono::floor<std::chrono::seconds>(since_1970));
    }
};

/// Bytes of a file that are to be sent.
// TODO(11): bytes(): they themselves, if they are in memory.
struct FileRange {
    File file;
    off_t offset = 0;
    std::size_t size = 0;
};

}  // namespace web
