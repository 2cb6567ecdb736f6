#include "files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
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

constexpr std::chrono::seconds lookup_interval{1};

// Nothing can be opened beneath a directory without its x bit. The "/." at the end makes the open
// check that bit.
Fd open_root(const std::string& name) {
    return Fd(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// A file may change twice within one tick. The kernel's clock ticks every 1 to 10 ms (time(7)),
// but a file system without fractions of a second may store only every other second (FAT).
constexpr std::chrono::milliseconds tick{20};
constexpr std::chrono::seconds longest_tick{2};

// Build tools and archivers give all files one of these times, so that their results are the same
// each time: the first two seconds of 1970, and the first one that a ZIP file can express.
constexpr std::array<std::chrono::sys_seconds, 3> placeholders{
    std::chrono::sys_seconds{}, std::chrono::sys_seconds{std::chrono::seconds(1)},
    std::chrono::sys_days(std::chrono::year(1980) / 1 / 1)};

// A time in the future is not when the file was written, because one of the clocks was wrong.
Distinct distinct(const FileVersion& version) {
    if (std::ranges::find(placeholders, version.modified()) != placeholders.end()) {
        return Distinct::no;
    }
    const auto now = std::chrono::system_clock::now();
    if (version.modified() < std::chrono::floor<std::chrono::seconds>(now) - longest_tick) {
        return Distinct::by_second;
    }
    const std::chrono::nanoseconds since_1970(version.modified_ns);
    const bool has_fraction = since_1970 % std::chrono::seconds(1) != std::chrono::seconds(0);
    const bool is_over = since_1970 < (now - tick).time_since_epoch();
    return has_fraction && is_over ? Distinct::by_nanosecond : Distinct::no;
}

}  // namespace

std::int64_t nanoseconds(const timespec& time) {
    constexpr std::int64_t second = 1'000'000'000;
    constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max() / second - 1;
    return std::clamp<std::int64_t>(time.tv_sec, -limit, limit) * second + time.tv_nsec;
}

std::size_t read_at(const Fd& file, off_t offset, std::span<char> into) {
    std::size_t had = 0;
    while (had < into.size()) {
        const ssize_t more = ::pread(file.number(), into.data() + had, into.size() - had,
                                     offset + static_cast<off_t>(had));
        if (more <= 0) break;
        had += static_cast<std::size_t>(more);
    }
    return had;
}

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

std::expected<OpenFile, FileError> Files::open(const char* name) {
    look_up_root();
    Fd file = open_beneath(root_, name);
    struct stat status{};
    if (file.number() < 0 || ::fstat(file.number(), &status) < 0) {
        return std::unexpected(file_error(errno));
    }
    if (S_ISDIR(status.st_mode)) return std::unexpected(FileError::directory);
    if (!S_ISREG(status.st_mode)) return std::unexpected(FileError::missing);
    FileVersion version{modified_ns(status), static_cast<std::uint64_t>(status.st_size)};
    version.distinct = distinct(version);
    return OpenFile{File(std::move(file)), version, changed_ns(status), status.st_ino};
}

}  // namespace web
