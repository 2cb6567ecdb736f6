#include "log_file.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "log_format.h"

namespace web {
namespace {

// With O_NONBLOCK, opening a fifo without a reader is an error (fifo(7)), and writing to one
// without a reader doesn't block.
Fd open_file(const std::string& name) {
    constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC;
    return Fd(::open(name.c_str(), flags, 0640));
}

// A missing file is no error.
bool rename_if_there(const std::string& from, const std::string& to) {
    return std::rename(from.c_str(), to.c_str()) == 0 || errno == ENOENT;
}

}  // namespace

LogFile::LogFile(const std::string& option, const std::string& name, std::size_t max_size)
    : next_name_(name + ".new"), max_size_(max_size) {
    names_[0] = name;
    for (std::size_t i = 1; i < names_.size(); ++i)
        names_[i] = name + "." + std::to_string(i);
    torn_.reserve(max_log_line);  // because a torn line must be kept even when memory has run out
    if (!open()) throw std::system_error(error_, std::generic_category(), option + " " + name);
}

LogFile::LogFile(int standard) : is_shared_(true) {
    torn_.reserve(max_log_line);
    adopt(Fd(::fcntl(standard, F_DUPFD_CLOEXEC, 0)));
}

bool LogFile::failed() {
    error_ = errno;
    return false;
}

bool LogFile::open() {
    Fd file = open_file(names_[0]);
    if (file.number() < 0) return failed();
    adopt(std::move(file));
    return true;
}

void LogFile::adopt(Fd file) {
    struct stat about{};
    ::fstat(file.number(), &about);
    is_regular_ = S_ISREG(about.st_mode);
    size_ = static_cast<std::size_t>(about.st_size);
    file_ = std::move(file);
}

bool LogFile::is_same_file(const LogFile& other) const {
    struct stat ours{};
    struct stat theirs{};
    ::fstat(file_.number(), &ours);
    ::fstat(other.file_.number(), &theirs);
    return is_regular_ && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

bool LogFile::reopen() {
    return is_shared_ || open();
}

std::size_t LogFile::append(std::string_view lines) {
    if (!finish_line()) return 0;
    std::size_t done = 0;
    while (done < lines.size()) {
        const std::string_view piece = lines_that_fit(lines.substr(done));
        const std::size_t count = write(piece);
        done += count;
        if (count == piece.size()) continue;
        if (count > 0 && piece[count - 1] != '\n') {
            const std::string_view rest = piece.substr(count);
            torn_ = rest.substr(0, rest.find('\n') + 1);
            done += torn_.size();
        }
        break;
    }
    return done;
}

bool LogFile::finish_line() {
    torn_.erase(0, write(torn_));
    return torn_.empty();
}

/// As many lines as fit into the file. At least one if the file is new, and all of them if no new
/// file can be made.
std::string_view LogFile::lines_that_fit(std::string_view lines) {
    if (max_size_ == 0 || !is_regular_) return lines;
    const auto that_fit = [&] {
        const std::size_t space = max_size_ - std::min(size_, max_size_);
        if (lines.size() <= space) return lines;
        return lines.substr(0, space == 0 ? 0 : lines.rfind('\n', space - 1) + 1);
    };
    std::string_view some = that_fit();
    if (some.empty() && size_ > 0) {
        rotation_failed_ = !rotate();
        if (rotation_failed_) return lines;
        some = that_fit();
    }
    return some.empty() ? lines.substr(0, lines.find('\n') + 1) : some;
}

// The new file is opened first, so that after a failure the old one still has its name.
bool LogFile::rotate() {
    Fd next = open_file(next_name_);
    if (next.number() < 0) return failed();
    if (!rename_files()) {
        failed();
        ::unlink(next_name_.c_str());
        return false;
    }
    adopt(std::move(next));
    return true;
}

// rename(2) replaces the oldest file. If a file could not be renamed, stop, so that it isn't
// replaced.
bool LogFile::rename_files() {
    for (std::size_t i = max_old_files; i > 0; --i) {
        if (!rename_if_there(names_[i - 1], names_[i])) return false;
    }
    return rename_if_there(next_name_, names_[0]);
}

std::size_t LogFile::write(std::string_view bytes) {
    std::size_t count = 0;
    while (count < bytes.size()) {
        const ssize_t took = write_some(bytes.substr(count));
        if (took < 0 && errno == EINTR) continue;
        if (took <= 0) {
            failed();
            break;
        }
        count += static_cast<std::size_t>(took);
    }
    size_ += count;
    return count;
}

// A shared file can't be made non-blocking, because that would affect its other users. Instead
// poll(2) is asked first: a pipe that is writable takes PIPE_BUF bytes without blocking (pipe(7)).
ssize_t LogFile::write_some(std::string_view bytes) {
    if (is_shared_ && !is_regular_) {
        pollfd asked{.fd = file_.number(), .events = POLLOUT, .revents = 0};
        if (::poll(&asked, 1, 0) == 0) {
            errno = EAGAIN;
            return -1;
        }
        bytes = bytes.substr(0, PIPE_BUF);
    }
    return ::write(file_.number(), bytes.data(), bytes.size());
}

}  // namespace web
