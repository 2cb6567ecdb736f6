#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#if defined(__aarch64__)
#include "arm.h"
#else
#include "x86.h"
#endif

namespace web {

/// The variants for a processor whose widest step this is.
inline std::span<const Variant> variants_up_to(int step) noexcept {
    const auto* const end =
        std::ranges::find_if(variants, [step](const Variant& each) { return each.step > step; });
    return {variants, end};
}

/// The variant with the widest step that such a processor has.
inline FindControl choose(int step) noexcept {
    return variants_up_to(step).back().find;
}

/// The one for this processor, chosen when the program starts.
inline const FindControl find_control = choose(widest_step());

enum class Progress { complete, incomplete, malformed };

struct HeadEnd {
    Progress progress;
    std::size_t size;  // in bytes, with the empty line, if the head is complete
};

/// Finds the empty line that ends a head, and refuses control bytes and a CR or LF alone. `bytes`
/// begins with the request line, which may not be empty.
inline HeadEnd find_head_end(std::string_view bytes, FindControl find = find_control) noexcept {
    const char* const end = bytes.data() + bytes.size();
    for (const char* line = bytes.data();;) {
        const char* const found = find(line, end);
        if (found == end || (end - found == 1 && *found == '\r')) return {Progress::incomplete, 0};
        if (*found != '\r' || found[1] != '\n') return {Progress::malformed, 0};
        const bool is_empty = found == line;
        line = found + 2;
        if (is_empty) return {Progress::complete, static_cast<std::size_t>(line - bytes.data())};
    }
}

}  // namespace web
