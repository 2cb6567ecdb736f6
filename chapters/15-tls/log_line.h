#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace web {

/// How a line looks: as Apache and nginx write it ("combined"), or as one object of JSON.
enum class LogFormat : std::uint8_t { combined, json };

enum class LogLevel : std::uint8_t { error, warn, info };

/// What a line tells of a request's head. Empty is what is not there, or not known.
struct LoggedHead {
    /// What is longer is cut: nobody may fill a disk much faster than he sends.
    static constexpr std::size_t max_line = 2048;
    static constexpr std::size_t max_field = 1024;
    static constexpr std::size_t max_size = max_line + 2 * max_field;

    std::string_view line;  // the request line
    std::string_view referer;
    std::string_view user_agent;
};

/// The same of a head, or of what has come of it; `fields` are the field lines that a parser
/// accepted. Views of both.
LoggedHead logged_head(std::string_view head, std::string_view fields = "");

/// What a line of the access log tells.
struct LogEntry {
    std::string_view address;
    LoggedHead head;
    unsigned status = 0;    // 0: there was no answer
    std::size_t bytes = 0;  // of the answer's body
};

/// A second, as lines tell it. Made once; a line only copies it.
class LogTime {
public:
    void set(LogFormat format, std::chrono::sys_seconds second);

    std::string_view text() const { return {text_.data(), size_}; }

private:
    std::array<char, 32> text_{};
    std::size_t size_ = 0;
};

/// The most bytes of a line: six for a byte that is escaped, and the rest.
inline constexpr std::size_t max_log_line = 6 * LoggedHead::max_size + 512;

/// Writes a line with its line feed and returns where it ends. It is one line whatever bytes came:
/// control characters, quotes, backslashes and what is not ASCII are escaped.
char* format_line(char* out, LogFormat format, std::string_view time, const LogEntry& entry);

/// The same of the error log. `message` is cut if it is longer than a field may be.
char* format_message(char* out, LogFormat format, std::string_view time, LogLevel level,
                     std::string_view message);

}  // namespace web
