#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "fd.h"
#include "open_file.h"

namespace web {

/// Why there is no file to send.
enum class FileError : std::uint8_t {
    missing,  // or forbidden, whose existence is not revealed
    directory,
    exhausted,  // no descriptors, no memory or a disk error: may pass
};

/// The regular files beneath one directory. Belongs to one thread.
class Files {
public:
    /// Throws std::system_error, with --root in its message.
    explicit Files(const std::string& root);

    // TODO(10.1): return an OpenFile. Its version is distinct by its second if that was over two
    // seconds ago; otherwise by its nanosecond if it has a fraction of a second and is older than
    // 20 ms; never if its time is in the future, or a placeholder (0, 1 or 1980-01-01).
    /// The whole of a file. `name` is relative to the root and has no dot segments. Links that lead
    /// out of the root are not followed.
    std::expected<FileRange, FileError> open(const char* name) const;

private:
    Fd root_;
};

}  // namespace web
