#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "fd.h"

namespace web {

/// A file that whole lines are appended to. Never waits for the reader of a pipe, but does wait for
/// a disk that hangs. There is no fsync(2), so a crash of the server loses no written line, and a
/// crash of the machine may lose the last seconds.
class LogFile {
public:
    /// The number of old files that are kept. NAME.1 is the newest.
    static constexpr std::size_t max_old_files = 3;

    /// `option` is the option that names the file. A file that would exceed `max_size` bytes is
    /// renamed and a new one begun; 0: no limit. Throws std::system_error if the file cannot be
    /// opened.
    LogFile(const std::string& option, const std::string& name, std::size_t max_size);

    /// Standard output or error, which is shared with others and never reopened.
    explicit LogFile(int standard);

    /// Writes whole lines and returns the number of bytes accepted. If that is not all of them,
    /// error() has the reason. The end of a partly written line may have to wait for the next call.
    std::size_t append(std::string_view lines);

    /// Writes the rest of a partly written line. False if it still has to wait.
    bool finish_line();

    /// Drops the rest of a partly written line, because another file follows.
    void discard_torn_line() { torn_.clear(); }

    /// Reopens the file by its name. If that fails, continues in the old file and returns false.
    bool reopen();

    /// Returns whether both write to the same regular file, under whatever name. Other kinds of
    /// file may be shared.
    bool is_same_file(const LogFile& other) const;

    /// The reason for the last failure; see errno(3).
    int error() const { return error_; }

    /// Whether the last rotation failed to rename a file.
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
    // the file's own name and those of the old files
    std::array<std::string, max_old_files + 1> names_;
    std::string next_name_;  // of a new file, until the old ones are renamed
    std::string torn_;       // the unwritten end of a partly written line
    std::size_t max_size_ = 0;
    std::size_t size_ = 0;
    int error_ = 0;
    bool is_regular_ = false;
    bool is_shared_ = false;
    bool rotation_failed_ = false;
};

}  // namespace web
