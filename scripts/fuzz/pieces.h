#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "verdict.h"

namespace fuzz {

/// How many bytes the next piece should have. The value is limited to 1 at least and to what is
/// left at most.
using PieceSize = std::function<std::size_t()>;

inline void must_be_same(std::string_view how, const Verdict& whole, const Verdict& pieces) {
    if (whole == pieces) return;
    std::fprintf(stderr, "in one piece:\n%s\n\n%.*s:\n%s\n", whole.c_str(),
                 static_cast<int>(how.size()), how.data(), pieces.c_str());
    std::abort();
}

/// Reports the verdict about the bytes in one piece, and aborts if cutting them into other pieces
/// changes it.
template <typename Judge>
void cut(std::string_view text, Judge verdict_of) {
    constexpr std::size_t bytewise_limit = 1024;  // more would take too long
    const Verdict whole = verdict_of(text, [] { return SIZE_MAX; });
    report(text, whole);
    if (text.size() <= bytewise_limit) {
        must_be_same("byte by byte", whole, verdict_of(text, [] { return 1; }));
    }
    std::uint64_t random = hash_of(text);
    const auto next_size = [&] {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::size_t>(random >> 33) % (text.size() / 4 + 1);
    };
    must_be_same("in some pieces", whole, verdict_of(text, next_size));
}

}  // namespace fuzz
