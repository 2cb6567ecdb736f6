#include "files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
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

constexpr std::chrono::seconds lookup_interval{1};

// Nothing can be opened beneath a directory without its x bit. The "/." at the end makes the open
// check that bit.
Fd open_root(const std::string& name) {
    return Fd(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

Files::Files(const std::string& root)
    : root_name_(root + "/."),
      root_(open_root(root_name_)),
      looked_up_(std::chrono::steady_clock::now()) {
    if (root_.number() < 0) {
        throw std::system_error(errno, std::generic_category(), "--root " + root);
    }
}

void Files::look_up_root() {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_up_ < lookup_interval) return;
    looked_up_ = now;
    Fd root = open_root(root_name_);
    if (root.number() >= 0) root_ = std::move(root);
}

std::expected<FileRange, FileError> Files::open(const char* name) {
    look_up_root();
    Fd file = open_beneath(root_, name);
    struct stat status{};
    if (file.number() < 0 || ::fstat(file.number(), &status) < 0) {
        return std::unexpected(file_error(errno));
    }
    if (S_ISDIR(status.st_mode)) return std::unexpected(FileError::directory);
    if (!S_ISREG(status.st_mode)) return std::unexpected(FileError::missing);
    return FileRange{File(std::move(file)), 0, static_cast<std::size_t>(status.st_size)};
}

}  // namespace web
