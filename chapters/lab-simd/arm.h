#pragma once

#include <arm_neon.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "portable.h"

namespace web {

// TODO(lab-simd): test sixteen bytes at once, with NEON
inline const char* find_control_16(const char* begin, const char* end) noexcept {
    return find_control_bytewise(begin, end);
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
