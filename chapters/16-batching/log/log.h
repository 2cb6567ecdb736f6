#pragma once

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "address.h"
#include "log_file.h"
#include "log_format.h"
#include "log_lines.h"
#include "status.h"

namespace web {

struct LogOptions {
    std::string access;  // a file, or "-" for standard output; empty: no log
    std::string error;   // a file; empty: standard error
    LogFormat format = LogFormat::combined;
    LogLevel level = LogLevel::warn;
    std::size_t max_size = 0;  // see LogFile
};

/// The files of both logs. Shared by all threads. A mutex is taken for each write, which covers
/// some hundred lines of the access log or one message of the error log.
class Log {
public:
    /// Throws std::system_error naming the option whose file cannot be opened, and
    /// std::invalid_argument if both logs would write to one file, because neither could then
    /// rename it.
    explicit Log(const LogOptions& options);

    /// Logs how many lines were lost.
    ~Log();

    bool has_access_log() const { return access_.has_value(); }
    LogFormat format() const { return format_; }

    /// Appends to the access log; see LogFile::append(). `lost` is the number of lines lost before
    /// these.
    std::size_t append(std::string_view lines, std::size_t lost);

    /// Writes one line to the error log if its level is enabled. If that fails, tries standard
    /// error.
    void write(LogLevel level, std::string_view message);

    /// Opens the files again by their names, because they have been renamed externally.
    void reopen();

private:
    void write_line(LogLevel level, std::string_view message);
    void write_errno(LogLevel level, std::string_view what, int error);
    void report_lost_lines();
    void reopen_access_log();

    const LogFormat format_;
    const LogLevel level_;
    std::mutex mutex_;  // protects the members below
    std::optional<LogFile> access_;
    std::optional<LogFile> error_;
    LogFile standard_error_{STDERR_FILENO};
    std::size_t lost_ = 0;
    bool failing_ = false;
    bool rotation_failing_ = false;
};

/// One worker's part of the access log. Belongs to its thread.
class AccessLog {
public:
    using Clock = std::chrono::steady_clock;

    /// `log` must outlive it.
    explicit AccessLog(Log& log) : log_(log), lines_(log.format()) {}

    std::unique_ptr<ClientLog> of_client(const Address& address) {
        return std::make_unique<ClientLog>(lines_, address);
    }

    /// Logs a client that was rejected.
    void rejected(const Address& address, Status status) {
        ClientLog(lines_, address).add({}, std::to_underlying(status), 0);
    }

    void on_new_second(std::chrono::sys_seconds second) { lines_.set_time(second); }

    /// Returns whether there is enough for a write. After a failed write it waits before the next
    /// attempt.
    bool is_due(Clock::time_point now) const {
        return lines_.view().size() >= LogLines::enough && now >= next_try_;
    }

    bool has_lines() const { return !lines_.view().empty(); }

    /// Writes the waiting lines. What cannot be written is kept as long as there is space for it.
    void write(Clock::time_point now);

    /// The last write. Lines that cannot be written are lost.
    void end();

private:
    static constexpr std::chrono::milliseconds pause{10};

    Log& log_;
    LogLines lines_;
    Clock::time_point next_try_{};
};

}  // namespace web
