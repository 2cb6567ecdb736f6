#include "range.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

#include "fields.h"

namespace web {
namespace {

// RFC 9110 §14.1.2 allows any number of digits; a number that overflows is past the end.
std::optional<std::uint64_t> parse_position(std::string_view digits) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    if (digits.empty() || end != digits.end()) return {};
    if (error == std::errc::result_out_of_range) return std::numeric_limits<std::uint64_t>::max();
    return value;
}

// The only non-empty element, or nothing if there are several or none.
std::optional<std::string_view> only_element(std::string_view set) {
    std::optional<std::string_view> only;
    while (const auto element = take_element(set)) {
        if (element->empty()) continue;
        if (only) return {};
        only = element;
    }
    return only;
}

std::expected<ByteRange, RangeError> last_bytes(std::uint64_t count, std::uint64_t size) {
    if (count == 0) return std::unexpected(RangeError::unsatisfiable);
    if (size == 0) return std::unexpected(RangeError::ignored);  // no Content-Range for this
    const std::uint64_t taken = std::min(count, size);
    return ByteRange{size - taken, taken};
}

}  // namespace

std::expected<ByteRange, RangeError> parse_range(std::string_view value, std::uint64_t size) {
    constexpr auto ignored = std::unexpected(RangeError::ignored);
    const std::size_t equals = value.find('=');
    if (equals == value.npos || !same_name(value.substr(0, equals), "bytes")) return ignored;
    const auto range = only_element(value.substr(equals + 1));
    const std::size_t dash = range ? range->find('-') : value.npos;
    if (dash == value.npos) return ignored;
    const std::string_view end = range->substr(dash + 1);
    const auto last = parse_position(end);
    if (dash == 0) return last ? last_bytes(*last, size) : ignored;
    const auto first = parse_position(range->substr(0, dash));
    if (!first || (!last && !end.empty())) return ignored;
    if (last && *last < *first) return ignored;
    if (*first >= size) return std::unexpected(RangeError::unsatisfiable);
    return ByteRange{*first, std::min(last.value_or(size - 1), size - 1) - *first + 1};
}

}  // namespace web
