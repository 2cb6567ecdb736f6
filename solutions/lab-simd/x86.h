#pragma once

#include <immintrin.h>

#include <bit>
#include <cstddef>

#include "portable.h"

namespace web {

/// Sets one bit for each byte that is a control byte. The lowest bit is the first byte's.
inline unsigned controls_in_16(const char* sixteen_bytes) noexcept {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(sixteen_bytes));
    // SSE2 has no unsigned comparison, so compare each byte with the smaller of itself and 0x1F.
    const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    const __m128i tab = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'));
    const __m128i del = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f));
    const __m128i control = _mm_or_si128(_mm_andnot_si128(tab, low), del);
    return static_cast<unsigned>(_mm_movemask_epi8(control));
}

inline const char* find_control_16(const char* begin, const char* end) noexcept {
    constexpr std::ptrdiff_t step = sizeof(__m128i);
    if (end - begin < step) return find_control_8(begin, end);
    const char* const last = end - step;
    for (; begin < last; begin += step) {
        if (const unsigned found = controls_in_16(begin)) return begin + std::countr_zero(found);
    }
    const unsigned found = controls_in_16(last);
    return found != 0 ? last + std::countr_zero(found) : end;
}

/// The same for 32 bytes. The attribute lets the compiler use AVX2 in this function, whatever the
/// program is compiled for, so call it only where the processor has AVX2.
[[gnu::target("avx2")]] inline unsigned controls_in_32(const char* thirty_two_bytes) noexcept {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(thirty_two_bytes));
    const __m256i low = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
    const __m256i tab = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\t'));
    const __m256i del = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(0x7f));
    const __m256i control = _mm256_or_si256(_mm256_andnot_si256(tab, low), del);
    return static_cast<unsigned>(_mm256_movemask_epi8(control));
}

[[gnu::target("avx2")]] inline const char* find_control_32(const char* begin,
                                                           const char* end) noexcept {
    constexpr std::ptrdiff_t step = sizeof(__m256i);
    if (end - begin < step) return find_control_16(begin, end);
    const char* const last = end - step;
    for (; begin < last; begin += step) {
        if (const unsigned found = controls_in_32(begin)) return begin + std::countr_zero(found);
    }
    const unsigned found = controls_in_32(last);
    return found != 0 ? last + std::countr_zero(found) : end;
}

/// From the narrowest to the widest.
inline constexpr Variant variants[] = {
    {1, find_control_bytewise}, {8, find_control_8}, {16, find_control_16}, {32, find_control_32}};

/// In bytes. Every x86-64 processor has SSE2. Whether this one has AVX2, and whether the system
/// saves its registers, the compiler's library finds out with the instructions cpuid and xgetbv.
inline int widest_step() noexcept {
    return __builtin_cpu_supports("avx2") ? 32 : 16;
}

}  // namespace web
