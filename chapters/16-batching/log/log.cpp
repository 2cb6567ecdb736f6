#include "log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace web {
namespace {

std::optional<LogFile> open_access_log(const LogOptions& options) {
    if (options.access.empty()) return {};
    if (options.access == "-") return LogFile(STDOUT_FILENO);
    return LogFile("--access-log", options.access, options.max_size);
}

std::optional<LogFile> open_error_log(const LogOptions& options) {
    if (options.error.empty()) return {};
    return LogFile("--error-log", options.error, options.max_size);
}

bool is_not_now(int error) {
    return error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

Log::Log(const LogOptions& options)
    : format_(options.format),
      level_(options.level),
      access_(open_access_log(options)),
      error_(open_error_log(options)) {
    if (!access_ || !error_ || !access_->is_same_file(*error_)) return;
    throw std::invalid_argument("--access-log " + options.access + " and --error-log " +
                                options.error + ": the same file");
}

// A line whose end could not be written counts as lost.
Log::~Log() {
    if (access_ && !access_->finish_line()) ++lost_;
    report_lost_lines();
}

std::size_t Log::append(std::string_view lines, std::size_t lost) {
    const std::lock_guard lock(mutex_);
    lost_ += lost;
    if (lines.empty()) return 0;
    const std::size_t done = access_->append(lines);
    const bool failed = done < lines.size();
    if (failed && !failing_ && !is_not_now(access_->error())) {
        write_errno(LogLevel::error, "access log", access_->error());
    }
    if (access_->rotation_failed() && !rotation_failing_) {
        write_errno(LogLevel::error, "access log, rename", access_->error());
    }
    failing_ = failed;
    rotation_failing_ = access_->rotation_failed();
    if (!failed) report_lost_lines();
    return done;
}

void Log::write(LogLevel level, std::string_view message) {
    const std::lock_guard lock(mutex_);
    write_line(level, message);
}

void Log::reopen() {
    const std::lock_guard lock(mutex_);
    if (error_ && !error_->reopen()) write_errno(LogLevel::error, "error log", error_->error());
    if (access_) reopen_access_log();
    write_line(LogLevel::info, "the log files are open again");
}

// A full disk may stay full until the old file is closed, so don't wait for its last line.
void Log::reopen_access_log() {
    const bool is_torn = !access_->finish_line();
    if (!access_->reopen()) {
        write_errno(LogLevel::error, "access log", access_->error());
    } else if (is_torn) {
        access_->discard_torn_line();
        ++lost_;
    }
}

// Doesn't allocate, because memory may have run out.
void Log::write_line(LogLevel level, std::string_view message) {
    if (level > level_) return;
    LogTime time;
    time.set(LogFormat::json,
             std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
    std::array<char, 6 * LoggedHead::max_field + 128> line;
    char* const end = format_message(line.data(), format_, time.text(), level, message);
    const std::string_view text(line.data(), end);
    if (error_ && error_->append(text) == text.size()) return;
    standard_error_.append(text);
}

void Log::write_errno(LogLevel level, std::string_view what, int error) {
    std::array<char, 256> text;
    std::snprintf(text.data(), text.size(), "%.*s: %s", static_cast<int>(what.size()), what.data(),
                  std::strerror(error));
    write_line(level, text.data());
}

void Log::report_lost_lines() {
    if (lost_ == 0) return;
    std::array<char, 80> text;
    std::snprintf(text.data(), text.size(), "access log: %zu lines lost", std::exchange(lost_, 0));
    write_line(LogLevel::error, text.data());
}

void AccessLog::write(Clock::time_point now) {
    const std::string_view lines = lines_.view();
    const std::size_t done = log_.append(lines, lines_.take_lost());
    if (done < lines.size()) next_try_ = now + pause;
    lines_.consume(done);
}

void AccessLog::end() {
    write({});
    const auto left = std::ranges::count(lines_.view(), '\n');
    lines_.consume(lines_.view().size());
    log_.append({}, static_cast<std::size_t>(left));
}

}  // namespace web
