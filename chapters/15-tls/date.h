#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace web {

/// When an HTTP-date is, in any of its three forms (RFC 9110 §5.6.7); nothing if it is none.
std::optional<std::chrono::sys_seconds> parse_date(std::string_view text);

}  // namespace web
