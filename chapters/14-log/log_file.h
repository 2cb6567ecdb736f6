// GIVEN(14), for you to use: nothing to write here. Read it first.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "fd.h"

namespace web {

/// A file that lines are appended to, none of them torn. Never waits for who reads a pipe; a disk
/// that hangs is waited for. What was written is the kernel's: nobody calls fsync(2), so a server
/// that crashes loses no line of it, and a machine that does may lose some seconds of them.
class LogFile {
public:
    /// As many old files are kept: NAME.1 is the youngest.
    static constexpr std::size_t max_old_files = 3;

    /// `option` is who named it. A file that would become larger than `max_size` is renamed, and a
    /// new one begun; 0: it may have any size. Throws std::system_error if it cannot be opened.
    LogFile(const std::string& option, const std::string& name, std::size_t max_size);

    /// Standard output or error. It is shared with others, and only written to.
    explicit LogFile(int standard);

    /// Writes whole lines, and returns for how many of these bytes that is done: perhaps not all,
    /// then error() tells why. The end of a line that was begun may have to wait for the next call.
    std::size_t append(std::string_view lines);

    /// Writes what waits; false if it has to wait on.
    bool finish_line();

    /// It need not wait: there is another file.
    void discard_torn_line() { torn_.clear(); }

    /// Goes on in the file that has the name now. If there can be none, in the old one, and false.
    bool reopen();

    /// Whether both write to one file, whatever it was called. What is no file may be shared.
    bool is_same_file(const LogFile& other) const;

    /// Why something was not done; errno(3).
    int error() const { return error_; }

    /// Whether the last file could not be given its next name.
    bool rotation_failed() const { return rotation_failed_; }

private:
    bool open();
    bool rotate();
    bool rename_files();
    void adopt(Fd file);
    std::string_view lines_that_fit(std::string_view lines);
    std::size_t write(std::string_view bytes);
    ssize_t write_some(std::string_view bytes);
    bool failed();

    Fd file_;
    std::array<std::string, max_old_files + 1> names_;  // its own, and of the old ones
    std::string next_name_;  // of a new one, until the others have theirs
    std::string torn_;       // the end of a line that has begun
    std::size_t max_size_ = 0;
    std::size_t size_ = 0;
    int error_ = 0;
    bool is_regular_ = false;
    bool is_shared_ = false;
    bool rotation_failed_ = false;
};

}  // namespace web
