#pragma once

#include <optional>
#include <string_view>

namespace web {

/// Case-insensitive comparison of names (RFC 9110 §5.1).
bool same_name(std::string_view name, std::string_view other);

/// Returns the text without leading and trailing spaces and tabs (RFC 9110 §5.6.3).
std::string_view trim(std::string_view text);

/// One field line.
struct Field {
    std::string_view name;
    std::string_view value;
};

/// Removes the first line from `fields`, which a parser has accepted, and returns it. Returns
/// nothing once none is left.
std::optional<Field> take_field(std::string_view& fields);

/// Removes the first element from a list (RFC 9110 §5.6.1) and returns it trimmed, perhaps empty.
/// Returns nothing once none is left. An entity tag that contains a comma is split into pieces,
/// none of which is a valid tag, because each has at most one quote.
std::optional<std::string_view> take_element(std::string_view& list);

}  // namespace web
