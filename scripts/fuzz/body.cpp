// However a body's bytes are split, the parser must yield the same data, end and error, and must
// never use more bytes than the body has.

#include "body_parser.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <format>
#include <string>
#include <string_view>

#include "pieces.h"

namespace {

using fuzz::PieceSize;

/// Returns the data decoded so far, how many bytes the body used, and how it ended.
fuzz::Verdict judge(const web::Request& request, std::string_view text,
                    const PieceSize& next_size) {
    web::BodyParser parser;
    parser.begin(request);
    std::string data;
    std::size_t used = 0;
    while (used < text.size() && !parser.at_end()) {
        const std::size_t limit = text.size() - used;
        std::string piece(text.substr(used, std::clamp<std::size_t>(next_size(), 1, limit)));
        const auto found = parser.next(piece);
        if (!found) {
            return std::format("{} {}", data, static_cast<int>(found.error()));
        }
        if (found->used == 0 || found->used > piece.size()) std::abort();
        data += found->data;
        used += found->used;
    }
    if (data.size() > web::max_body || used > text.size()) std::abort();
    return std::format("{} {} {}", data, used, parser.at_end() ? "end" : "incomplete");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    web::Request request;
    request.chunked = data[0] % 8 != 0;
    if (!request.chunked) request.content_length = 1 + data[0];
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    fuzz::cut(text, [&](std::string_view bytes, const PieceSize& next_size) {
        return judge(request, bytes, next_size);
    });
    return 0;
}
