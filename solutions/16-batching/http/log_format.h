#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace web {

/// The format of a line: that of Apache and nginx ("combined"), or one JSON object.
enum class LogFormat : std::uint8_t { combined, json };

enum class LogLevel : std::uint8_t { error, warn, info };

/// What is logged of a request's head. Empty if missing or unknown.
struct LoggedHead {
    /// Longer texts are cut, so that a client can't fill the disk much faster than it sends.
    static constexpr std::size_t max_line = 2048;
    static constexpr std::size_t max_field = 1024;
    static constexpr std::size_t max_size = max_line + 2 * max_field;

    std::string_view line;  // the request line
    std::string_view referer;
    std::string_view user_agent;
};

/// Extracts these from a head, or from the part received so far. `fields` are the field lines that
/// a parser accepted. The results are views of both arguments.
LoggedHead logged_head(std::string_view head, std::string_view fields = "");

/// The contents of a line in the access log.
struct LogEntry {
    std::string_view address;
    LoggedHead head;
    unsigned status = 0;    // 0: there was no answer
    std::size_t bytes = 0;  // of the answer's body
};

/// A second, formatted for log lines. Formatted once, then only copied.
class LogTime {
public:
    void set(LogFormat format, std::chrono::sys_seconds second);

    std::string_view text() const { return {text_.data(), size_}; }

private:
    std::array<char, 32> text_{};
    std::size_t size_ = 0;
};

/// The maximum length of a line in bytes: six for each escaped byte, plus the fixed parts.
inline constexpr std::size_t max_log_line = 6 * LoggedHead::max_size + 512;

/// Writes a line with its line feed and returns its end. Control characters, quotes, backslashes
/// and non-ASCII bytes are escaped, so it is always a single line.
char* format_line(char* out, LogFormat format, std::string_view time, const LogEntry& entry);

/// The same for the error log. `message` is cut if it is longer than a field may be.
char* format_message(char* out, LogFormat format, std::string_view time, LogLevel level,
                     std::string_view message);

}  // namespace web
