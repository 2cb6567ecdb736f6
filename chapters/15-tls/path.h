#pragma once

#include <expected>
#include <span>
#include <string_view>

#include "status.h"

namespace web {

/// The name under the root that a request's path stands for, written to `name`: percent-encoding
/// is undone, once, and the dot segments of RFC 3986 §5.2.4 and empty segments are gone. It begins
/// without a slash. It is empty or ends with one where a directory is meant. Makes no system call.
/// What no name can be, or leads out of the root, is a refusal.
std::expected<std::string_view, Status> resolve(std::string_view path, std::span<char> name);

}  // namespace web
