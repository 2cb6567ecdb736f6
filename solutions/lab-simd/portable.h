#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace web {

/// Returns the first byte of [begin, end) that can't be part of a line of a head, or `end` if there
/// is none. Reads nothing outside [begin, end).
using FindControl = const char* (*)(const char* begin, const char* end) noexcept;

/// One way to do this, and the number of bytes that it tests at once.
struct Variant {
    int step;
    FindControl find;
};

/// True for a byte below 0x20 other than a tab, and for 0x7F (RFC 9110 §5.5, RFC 5234 §B.1). CR and
/// LF are such bytes, so the same search finds the end of a line and what doesn't belong in it.
inline bool is_control(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
}

inline const char* find_control_bytewise(const char* begin, const char* end) noexcept {
    while (begin != end && !is_control(*begin))
        ++begin;
    return begin;
}

/// Sets the highest bit of each byte that is a control byte, and no other bit. The lowest byte is
/// the one at the lowest address.
inline std::uint64_t controls_in_word(const char* eight_bytes) noexcept {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t low_bits = ones * 0x7f;
    std::uint64_t word;
    std::memcpy(&word, eight_bytes, sizeof word);
    // A sum of two numbers below 0x80 carries nothing into the next byte. Its highest bit is set if
    // the byte is at least 0x20, or in the other two sums if the byte differs from the one wanted.
    const std::uint64_t printable = (word & low_bits) + ones * 0x60;
    const std::uint64_t not_tab = ((word ^ ones * '\t') & low_bits) + low_bits;
    const std::uint64_t not_del = ((word ^ low_bits) & low_bits) + low_bits;
    return ((~printable & not_tab) | ~not_del) & ~word & ones * 0x80;
}

inline const char* find_control_8(const char* begin, const char* end) noexcept {
    constexpr std::ptrdiff_t step = sizeof(std::uint64_t);
    if (end - begin < step) return find_control_bytewise(begin, end);
    const char* const last = end - step;
    for (; begin < last; begin += step) {
        if (const std::uint64_t found = controls_in_word(begin))
            return begin + std::countr_zero(found) / 8;
    }
    // The last step ends at `end`, and may test bytes again that the one before has tested.
    const std::uint64_t found = controls_in_word(last);
    return found != 0 ? last + std::countr_zero(found) / 8 : end;
}

}  // namespace web
