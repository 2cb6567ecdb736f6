#pragma once

#include <immintrin.h>

#include <bit>
#include <cstddef>

#include "portable.h"

namespace web {

// TODO(lab-simd): test sixteen bytes at once, with SSE2
inline const char* find_control_16(const char* begin, const char* end) noexcept {
    return find_control_bytewise(begin, end);
}

// TODO(lab-simd): test 32 bytes at once, with AVX2
inline const char* find_control_32(const char* begin, const char* end) noexcept {
    return find_control_bytewise(begin, end);
}

/// From the narrowest to the widest.
inline constexpr Variant variants[] = {
    {1, find_control_bytewise}, {8, find_control_8}, {16, find_control_16}, {32, find_control_32}};

// TODO(lab-simd): find out whether this processor has AVX2
/// In bytes. Every x86-64 processor has SSE2.
inline int widest_step() noexcept {
    return 16;
}

}  // namespace web
