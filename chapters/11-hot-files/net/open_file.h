#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "fd.h"
#include "range.h"

namespace web {

/// An open file, closed when destroyed. Not shared.
// TODO(11.1): make it shared, with a plain, non-atomic reference count.
// TODO(11.2): it may hold bytes in memory instead of a descriptor.
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

/// What tells a version of a file from all others of its size.
enum class Distinct : std::uint8_t {
    no,
    by_nanosecond,
    by_second,  // no other version has its second either
};

/// Identifies one version of a file. In nanoseconds, because there may be two versions within one
/// second.
struct FileVersion {
    std::int64_t modified_ns = 0;  // since 1970
    std::uint64_t size = 0;
    Distinct distinct = Distinct::by_second;

    std::chrono::sys_seconds modified() const {
        const std::chrono::nanoseconds since_1970(modified_ns);
        return std::chrono::sys_seconds(std::chrono::floor<std::chrono::seconds>(since_1970));
    }
};

/// A range of bytes of a file to send.
// TODO(11.2): bytes(): the range's bytes, if they are in memory.
struct FileRange {
    File file;
    off_t offset = 0;
    std::size_t size = 0;
};

/// A file and its version when it was opened.
struct OpenFile {
    File file;
    FileVersion version;
    // TODO(11.1): when it was changed, its inode, and whether it is the same as before.

    /// Returns a part of the file, or all of it.
    FileRange take(const std::optional<ByteRange>& part) {
        const ByteRange range = part.value_or(ByteRange{0, version.size});
        return {std::move(file), static_cast<off_t>(range.first),
                static_cast<std::size_t>(range.size)};
    }
};

// TODO(11.2): take_into_memory(): keep its bytes instead of its descriptor.

}  // namespace web
