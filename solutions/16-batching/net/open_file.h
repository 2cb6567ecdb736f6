#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "fd.h"
#include "range.h"

namespace web {

/// A file's contents: an open descriptor, or bytes in memory. Shared by connections that send them
/// and caches that keep them; the last owner closes the file. All owners belong to one thread, so
/// the reference count is not atomic.
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
    /// Defined in open_file.cpp, so that code that only passes a file on makes no system call.
    ~File();

    /// Owns no descriptor if the bytes are in memory.
    const Fd& fd() const { return contents_->fd; }

    /// Whether sendfile(2) was refused for this file, so that its bytes have to be copied.
    bool needs_copy() const { return contents_->needs_copy; }
    void set_needs_copy() const { contents_->needs_copy = true; }

    /// The whole contents if they are in memory; otherwise null.
    const char* bytes() const { return contents_ ? contents_->bytes.get() : nullptr; }

private:
    struct Contents {
        Fd fd;
        std::unique_ptr<char[]> bytes;
        std::size_t users = 1;
        bool needs_copy = false;  // found out while it is sent
    };

    Contents* contents_ = nullptr;
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
struct FileRange {
    File file;
    off_t offset = 0;
    std::size_t size = 0;

    /// The bytes of this range if they are in memory; otherwise empty.
    std::string_view bytes() const {
        const char* const all = file.bytes();
        return all ? std::string_view(all + offset, size) : std::string_view();
    }
};

/// A file and its version when it was opened.
struct OpenFile {
    File file;
    FileVersion version;
    std::int64_t changed_ns = 0;  // since 1970; unlike the modification time it cannot be set
    std::uint64_t inode = 0;

    bool is_unchanged_from(const OpenFile& before) const {
        return changed_ns == before.changed_ns && inode == before.inode &&
               version.size == before.version.size &&
               version.distinct == before.version.distinct;  // which comes with age
    }

    /// Returns a part of the file, or all of it.
    FileRange take(const std::optional<ByteRange>& part) {
        const ByteRange range = part.value_or(ByteRange{0, version.size});
        return {std::move(file), static_cast<off_t>(range.first),
                static_cast<std::size_t>(range.size)};
    }
};

/// Reads the bytes into memory, after which the descriptor is no longer needed. Returns false and
/// changes nothing if not all bytes can be read.
bool take_into_memory(OpenFile& file);

}  // namespace web
