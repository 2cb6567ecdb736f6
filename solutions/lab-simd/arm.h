#pragma once

#include <arm_neon.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "portable.h"

namespace web {

/// Sets four bits for each byte that is a control byte. The lowest four are the first byte's.
inline std::uint64_t controls_in_16(const char* sixteen_bytes) noexcept {
    const uint8x16_t bytes = vld1q_u8(reinterpret_cast<const std::uint8_t*>(sixteen_bytes));
    const uint8x16_t low = vcltq_u8(bytes, vdupq_n_u8(0x20));
    const uint8x16_t tab = vceqq_u8(bytes, vdupq_n_u8('\t'));
    const uint8x16_t del = vceqq_u8(bytes, vdupq_n_u8(0x7f));
    const uint8x16_t control = vorrq_u8(vbicq_u8(low, tab), del);
    // NEON has no instruction that collects one bit of each byte. This one shifts each pair of
    // bytes to the right by four bits and keeps the lower eight, which are half of one byte and
    // half of the other.
    const uint8x8_t halves = vshrn_n_u16(vreinterpretq_u16_u8(control), 4);
    return vget_lane_u64(vreinterpret_u64_u8(halves), 0);
}

inline const char* find_control_16(const char* begin, const char* end) noexcept {
    constexpr std::ptrdiff_t step = sizeof(uint8x16_t);
    if (end - begin < step) return find_control_8(begin, end);
    const char* const last = end - step;
    for (; begin < last; begin += step) {
        if (const std::uint64_t found = controls_in_16(begin))
            return begin + std::countr_zero(found) / 4;
    }
    const std::uint64_t found = controls_in_16(last);
    return found != 0 ? last + std::countr_zero(found) / 4 : end;
}

/// From the narrowest to the widest.
inline constexpr Variant variants[] = {
    {1, find_control_bytewise}, {8, find_control_8}, {16, find_control_16}};

/// In bytes. The calling convention of 64-bit Arm passes arguments in NEON's registers, so there is
/// nothing to find out.
inline int widest_step() noexcept {
    return 16;
}

}  // namespace web
