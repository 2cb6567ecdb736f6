#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

namespace web {

/// Bytes of a representation: from `first`, `size` of them.
struct ByteRange {
    std::uint64_t first = 0;
    std::uint64_t size = 0;

    bool operator==(const ByteRange&) const = default;
};

enum class RangeError : std::uint8_t {
    ignored,        // all of it is sent: another unit, several ranges, or not a range at all
    unsatisfiable,  // 416: it begins behind the end
};

/// What a Range field's value asks of so many bytes (RFC 9110 §14.1.2 and §14.2).
std::expected<ByteRange, RangeError> parse_range(std::string_view value, std::uint64_t size);

}  // namespace web
