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

// TODO(lab-simd): test eight bytes at once
inline const char* find_control_8(const char* begin, const char* end) noexcept {
    return find_control_bytewise(begin, end);
}

}  // namespace web
