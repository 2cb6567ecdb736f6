#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

namespace web {

/// A range of bytes of a representation: `size` bytes from offset `first`.
struct ByteRange {
    std::uint64_t first = 0;
    std::uint64_t size = 0;

    bool operator==(const ByteRange&) const = default;
};

enum class RangeError : std::uint8_t {
    ignored,        // all of it is sent: other unit, several ranges, or invalid
    unsatisfiable,  // 416: the range begins past the end
};

/// The range that a Range field's value selects from `size` bytes (RFC 9110 §14.1.2 and §14.2).
std::expected<ByteRange, RangeError> parse_range(std::string_view value, std::uint64_t size);

}  // namespace web
