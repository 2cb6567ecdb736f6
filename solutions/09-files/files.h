#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "fd.h"
#include "file.h"

namespace web {

/// Why there is no file to send.
enum class FileError : std::uint8_t {
    missing,  // or not to be had: who may not read it is not told that it exists
    directory,
    exhausted,  // out of descriptors or memory, or the disk failed: perhaps another time
};

/// The regular files beneath one directory. Belongs to one thread.
class Files {
public:
    /// Throws std::system_error naming --root.
    explicit Files(const std::string& root);

    /// All of a file. `name` is relative to the root, without dot segments; no link leads out.
    std::expected<FileRange, FileError> open(const char* name) const;

private:
    Fd root_;
};

}  // namespace web
