// However a request is cut into pieces, the verdict about it is the one about the whole.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "verdict.h"

namespace {

using PieceSize = std::function<std::size_t()>;

/// Each piece moves everything to new memory of just its size, and the old is freed: a view of it
/// that is still used is an error that the address sanitizer sees.
fuzz::Verdict parse(std::string_view text, const PieceSize& next_size) {
    web::HttpParser parser;
    web::Request request;
    std::unique_ptr<char[]> buffer;
    for (std::size_t size = 0; size < text.size();) {
        size += std::clamp<std::size_t>(next_size(), 1, text.size() - size);
        auto larger = std::make_unique_for_overwrite<char[]>(size);
        std::ranges::copy(text.substr(0, size), larger.get());
        buffer = std::move(larger);
        const auto progress = parser.parse({buffer.get(), size}, request);
        if (!progress) return fuzz::refused(progress.error());
        if (*progress == web::HttpParser::Progress::complete) {
            return fuzz::complete(request, parser.head_size());
        }
    }
    return fuzz::incomplete();
}

void must_be_same(std::string_view how, const fuzz::Verdict& whole, const fuzz::Verdict& pieces) {
    if (whole == pieces) return;
    std::println(stderr, "in one piece:  {}\n{}: {}", whole, how, pieces);
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t bytewise_limit = 1024;  // more would take too long
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const fuzz::Verdict whole = parse(text, [size] { return size; });
    fuzz::report(text, whole);
    if (size <= bytewise_limit) must_be_same("byte by byte ", whole, parse(text, [] { return 1; }));
    std::uint64_t random = fuzz::hash_of(text);
    const auto next_size = [&] {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::size_t>(random >> 33) % (size / 4 + 1);
    };
    must_be_same("in some pieces", whole, parse(text, next_size));
    return 0;
}
