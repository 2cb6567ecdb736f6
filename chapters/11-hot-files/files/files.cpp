#include "files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "files_system.h"

namespace web {
namespace {

FileError file_error(int error) {
    switch (error) {
        case EAGAIN:
        case EINTR:
        case EIO:
        case EMFILE:
        case ENFILE:
        case ENOMEM: return FileError::exhausted;
        default: return FileError::missing;
    }
}

// Nothing can be opened beneath a directory without its x bit. Appending "/." makes the open check
// that bit.
Fd open_root(const std::string& root) {
    Fd directory(::open((root + "/.").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.number() < 0) {
        throw std::system_error(errno, std::generic_category(), "--root " + root);
    }
    return directory;
}

}  // namespace

std::int64_t nanoseconds(const timespec& time) {
    constexpr std::int64_t second = 1'000'000'000;
    constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max() / second - 1;
    return std::clamp<std::int64_t>(time.tv_sec, -limit, limit) * second + time.tv_nsec;
}

Files::Files(const std::string& root) : root_(open_root(root)) {}

std::expected<OpenFile, FileError> Files::open(const char* name) const {
    Fd file = open_beneath(root_, name);
    struct stat status{};
    if (file.number() < 0 || ::fstat(file.number(), &status) < 0) {
        return std::unexpected(file_error(errno));
    }
    if (S_ISDIR(status.st_mode)) return std::unexpected(FileError::directory);
    if (!S_ISREG(status.st_mode)) return std::unexpected(FileError::missing);
    // TODO(11.1): also store when it was changed, and its inode.
    return OpenFile{File(std::move(file)),
                    {modified_ns(status), static_cast<std::uint64_t>(status.st_size)}};
}

}  // namespace web
