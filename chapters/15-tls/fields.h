#pragma once

#include <optional>
#include <string_view>

namespace web {

/// Whether two names are the same but for the case of letters (RFC 9110 §5.1).
bool same_name(std::string_view name, std::string_view other);

/// Without the spaces and tabs around it (RFC 9110 §5.6.3).
std::string_view trim(std::string_view text);

/// One field line.
struct Field {
    std::string_view name;
    std::string_view value;
};

/// Takes the first line from `fields`, which a parser has accepted; nothing once all are taken.
std::optional<Field> take_field(std::string_view& fields);

/// Takes the first element of a list (RFC 9110 §5.6.1), trimmed, perhaps empty; nothing once all
/// are taken. An entity tag that holds a comma comes in pieces, of which none is a tag: each has
/// one quote at most.
std::optional<std::string_view> take_element(std::string_view& list);

}  // namespace web
