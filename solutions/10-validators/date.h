#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

namespace web {

/// The Date field (RFC 9110 §6.6.1), as text. Belongs to one thread, which sets it once a second:
/// an answer only copies it.
class Date {
public:
    void set(std::chrono::sys_seconds now);

    std::chrono::sys_seconds time() const { return time_; }

    /// With its CRLF.
    std::string_view field() const { return {text_, sizeof text_ - 1}; }

private:
    std::chrono::sys_seconds time_;
    char text_[sizeof "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"];
};

/// Bytes of the form that we send: "Sun, 06 Nov 1994 08:49:37 GMT".
inline constexpr std::size_t date_size = 29;

/// Writes it, with a zero behind it, and returns where it ends.
char* format_date(char* out, std::chrono::sys_seconds time);

/// When an HTTP-date is, in any of its three forms (RFC 9110 §5.6.7); nothing if it is none.
std::optional<std::chrono::sys_seconds> parse_date(std::string_view text);

}  // namespace web
