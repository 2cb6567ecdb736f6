#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "fd.h"

namespace web {

/// A file's contents: open, or in memory. Shared by whoever sends them and whoever keeps them; the
/// last one closes the file. All are of one thread: the count is a plain number.
class File {
public:
    File() = default;
    explicit File(Fd fd) : contents_(new Contents{std::move(fd), {}}) {}
    explicit File(std::unique_ptr<char[]> bytes)
        : contents_(new Contents{Fd(), std::move(bytes)}) {}
    File(const File& other) : contents_(other.contents_) {
        if (contents_) ++contents_->users;
    }
    File(File&& other) noexcept : contents_(std::exchange(other.contents_, nullptr)) {}
    File& operator=(File other) noexcept {
        std::swap(contents_, other.contents_);
        return *this;
    }
    /// Not here: who only hands a file on makes no system call.
    ~File();

    /// Without a number where the bytes are in memory.
    const Fd& fd() const { return contents_->fd; }

    /// All of them, where they are in memory; else null.
    const char* bytes() const { return contents_ ? contents_->bytes.get() : nullptr; }

private:
    struct Contents {
        Fd fd;
        std::unique_ptr<char[]> bytes;
        std::size_t users = 1;
    };

    Contents* contents_ = nullptr;
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
struct FileRange {
    File file;
    off_t offset = 0;
    std::size_t size = 0;

    /// They themselves, if they are in memory; else nothing.
    std::string_view bytes() const {
        const char* const all = file.bytes();
        return all ? std::string_view(all + offset, size) : std::string_view();
    }
};

}  // namespace web
