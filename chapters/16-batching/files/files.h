#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
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

/// Reads from the offset on. Returns the number of bytes, which is less than asked for only at the
/// end of the file or on an error.
std::size_t read_at(const Fd& file, off_t offset, std::span<char> into);

/// The regular files beneath one directory. Its name is looked up again at most once per second, so
/// that a new release of a site can take the directory's place, or a link can be switched to it.
/// If the lookup fails, the previous directory is still served. Belongs to one thread.
class Files {
public:
    /// Throws std::system_error, with --root in its message.
    explicit Files(const std::string& root);

    /// `name` is relative to the root and has no dot segments. Links that lead out of the root are
    /// not followed.
    std::expected<OpenFile, FileError> open(const char* name);

private:
    void look_up_root();

    const std::string root_name_;  // ends with "/."
    Fd root_;
    std::chrono::steady_clock::time_point looked_up_;
};

}  // namespace web
