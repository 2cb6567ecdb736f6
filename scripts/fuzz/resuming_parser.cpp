// However a request is cut into pieces, the verdict must be the same as for the whole.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "pieces.h"

namespace {

/// Each piece moves everything to new memory of exactly its size and frees the old memory, so that
/// the address sanitizer detects any use of an old view.
fuzz::Verdict parse(std::string_view text, const fuzz::PieceSize& next_size) {
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::cut({reinterpret_cast<const char*>(data), size}, parse);
    return 0;
}
