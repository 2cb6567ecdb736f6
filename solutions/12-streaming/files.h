#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>

#include "fd.h"
#include "file.h"
#include "range.h"

namespace web {

/// Why there is no file to send.
enum class FileError : std::uint8_t {
    missing,  // or forbidden, whose existence is not revealed
    directory,
    exhausted,  // no descriptors, no memory or a disk error: may pass
};

/// A file and its version when it was opened.
struct OpenFile {
    File file;
    FileVersion version;
    std::int64_t changed_ns = 0;  // since 1970; unlike the modification time it cannot be set
    std::uint64_t inode = 0;

    bool is_unchanged_from(const OpenFile& before) const {
        return changed_ns == before.changed_ns && inode == before.inode &&
               version.size == before.version.size;
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

/// The regular files beneath one directory. Belongs to one thread.
class Files {
public:
    /// Throws std::system_error, with --root in its message.
    explicit Files(const std::string& root);

    /// `name` is relative to the root and has no dot segments. Links that lead out of the root are
    /// not followed.
    std::expected<OpenFile, FileError> open(const char* name) const;

private:
    Fd root_;
};

}  // namespace web
