#pragma once

#include <expected>
#include <span>
#include <string_view>

#include "status.h"

namespace web {

/// Converts a request's path to a name relative to the root, written to `name`: percent-encoding is
/// decoded, once, and the dot segments of RFC 3986 §5.2.4 and empty segments are removed. The name
/// has no leading slash. For a directory it is empty or ends with a slash. Makes no system calls. A
/// path that cannot be a name, or leads out of the root, is refused with a status.
std::expected<std::string_view, Status> resolve(std::string_view path, std::span<char> name);

}  // namespace web
