#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace web {

/// The time that an HTTP-date denotes, in any of its three forms (RFC 9110 §5.6.7); nothing if the
/// text is invalid.
std::optional<std::chrono::sys_seconds> parse_date(std::string_view text);

/// Overwrites an IMF-fixdate, "Sun, 06 Nov 1994 08:49:37 GMT", at `out`.
void write_date(char* out, std::chrono::sys_seconds when);

}  // namespace web
