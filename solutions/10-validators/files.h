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

    /// Returns a part of the file, or all of it.
    FileRange take(const std::optional<ByteRange>& part) {
        const ByteRange range = part.value_or(ByteRange{0, version.size});
        return {std::move(file), static_cast<off_t>(range.first),
                static_cast<std::size_t>(range.size)};
    }
};

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
