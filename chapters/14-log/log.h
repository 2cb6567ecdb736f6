// GIVEN(14), for you to use: nothing to write here. Read it first.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "log_file.h"
#include "log_line.h"
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

/// The files of both logs. All threads share it: a mutex is taken for each write, that is for some
/// hundred lines of the access log, or for one message of the error log.
class Log {
public:
    /// Throws std::system_error naming the option whose file cannot be opened, and
    /// std::invalid_argument if both would write to one, which neither could rename. `reopening` is
    /// set when the files have been renamed by somebody else; it must outlive the log.
    Log(const LogOptions& options, std::atomic<bool>& reopening);

    /// Tells how many lines were lost.
    ~Log();

    bool has_access_log() const { return access_.has_value(); }
    LogFormat format() const { return format_; }

    /// Appends to the access log; see LogFile::append(). So many lines were `lost` before.
    std::size_t append(std::string_view lines, std::size_t lost);

    /// One line of the error log, if its level is asked for. If that takes nothing, standard error
    /// may.
    void write(LogLevel level, std::string_view message);

    /// To be called about once a second.
    void reopen_if_asked();

private:
    void write_line(LogLevel level, std::string_view message);
    void write_errno(LogLevel level, std::string_view what, int error);
    void report_lost_lines();
    void reopen_access_log();

    const LogFormat format_;
    const LogLevel level_;
    std::atomic<bool>& reopening_;
    std::mutex mutex_;  // guards what follows
    std::optional<LogFile> access_;
    std::optional<LogFile> error_;
    LogFile standard_error_{STDERR_FILENO};
    std::size_t lost_ = 0;
    bool failing_ = false;
    bool rotation_failing_ = false;
};

/// The access log, as one worker has it. Belongs to its thread.
class AccessLog {
public:
    using Clock = std::chrono::steady_clock;

    /// `log` must outlive it.
    explicit AccessLog(Log& log) : log_(log), lines_(log.format()) {}

    std::unique_ptr<ClientLog> of_client(std::span<const std::uint8_t, 16> address) {
        return std::make_unique<ClientLog>(lines_, address);
    }

    /// A client that is not served at all.
    void rejected(std::span<const std::uint8_t, 16> address, Status status) {
        ClientLog(lines_, address).add({}, std::to_underlying(status), 0);
    }

    void on_new_second(std::chrono::sys_seconds second) { lines_.set_time(second); }

    /// Whether there is enough for a write. Who took nothing is not asked again at once.
    bool is_due(Clock::time_point now) const {
        return lines_.view().size() >= LogLines::enough && now >= next_try_;
    }

    /// Writes what there is. What cannot be written waits, as long as there is room for it.
    void write(Clock::time_point now);

    /// The same for the last time: what cannot be written is lost.
    void end();

private:
    static constexpr std::chrono::milliseconds pause{10};

    Log& log_;
    LogLines lines_;
    Clock::time_point next_try_{};
};

}  // namespace web
