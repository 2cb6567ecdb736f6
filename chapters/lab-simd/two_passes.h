#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "task.h"

namespace web {

/// As in chapter 6: non-zero if one of eight bytes is a control byte or a tab. Which one it is
/// can't be seen from the result, because a borrow may reach the next byte.
inline std::uint64_t control_or_tab(const char* eight_bytes) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101;
    std::uint64_t word;
    std::memcpy(&word, eight_bytes, sizeof word);
    const std::uint64_t is_del = word ^ (ones * 0x7f);
    return (((word - ones * 0x20) & ~word) | ((is_del - ones) & ~is_del)) & (ones * 0x80);
}

inline bool has_control(const char* begin, const char* end) noexcept {
    constexpr std::ptrdiff_t step = 8;
    if (end - begin >= step) {
        const char* const last = end - step;
        std::uint64_t found = control_or_tab(last);
        for (const char* at = begin; at < last; at += step)
            found |= control_or_tab(at);
        if (found == 0) return false;
    }
    return find_control_bytewise(begin, end) != end;
}

/// What `find_head_end` does, in the way of chapter 6: memchr(3) finds the line feed, and then the
/// line's bytes are tested. For comparison only.
inline HeadEnd find_head_end_in_two_passes(std::string_view bytes) noexcept {
    const char* const end = bytes.data() + bytes.size();
    for (const char* line = bytes.data();;) {
        const auto left = static_cast<std::size_t>(end - line);
        const auto* const line_feed = static_cast<const char*>(std::memchr(line, '\n', left));
        if (line_feed == nullptr) return {Progress::incomplete, 0};
        if (line_feed == line || line_feed[-1] != '\r') return {Progress::malformed, 0};
        if (has_control(line, line_feed - 1)) return {Progress::malformed, 0};
        const bool is_empty = line_feed == line + 1;
        line = line_feed + 1;
        if (is_empty) return {Progress::complete, static_cast<std::size_t>(line - bytes.data())};
    }
}

}  // namespace web
