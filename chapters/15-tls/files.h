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
    missing,  // or not to be had: who may not read it is not told that it exists
    directory,
    exhausted,  // out of descriptors or memory, or the disk failed: perhaps another time
};

/// A file, as it was when it was opened.
struct OpenFile {
    File file;
    FileVersion version;
    std::int64_t changed_ns = 0;  // since 1970: unlike the time of its version it cannot be set
    std::uint64_t inode = 0;

    bool is_unchanged_from(const OpenFile& before) const {
        return changed_ns == before.changed_ns && inode == before.inode &&
               version.size == before.version.size;
    }

    /// Part of it, or all of it.
    FileRange take(const std::optional<ByteRange>& part) {
        const ByteRange range = part.value_or(ByteRange{0, version.size});
        return {std::move(file), static_cast<off_t>(range.first),
                static_cast<std::size_t>(range.size)};
    }
};

/// Takes the bytes into memory, and the descriptor is not needed any more. False, and nothing has
/// changed, if they are not all to be had.
bool take_into_memory(OpenFile& file);

// TODO(15): read_at(): bytes of a file from some place on, fewer only where it ends or fails, for
// who cannot use sendfile(2).

/// The regular files beneath one directory. Belongs to one thread.
class Files {
public:
    /// Throws std::system_error naming --root.
    explicit Files(const std::string& root);

    /// `name` is relative to the root, without dot segments; no link leads out.
    std::expected<OpenFile, FileError> open(const char* name) const;

private:
    Fd root_;
};

}  // namespace web
