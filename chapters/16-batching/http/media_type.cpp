#include "media_type.h"

#include <algorithm>
#include <array>

namespace web {
namespace {

struct Known {
    std::string_view extension;
    MediaType type;
};

// Media types from IANA's registry. The most frequent ones are first, because the list is searched
// in order.
constexpr Known known[] = {
    {"html", "text/html; charset=utf-8"},
    {"css", "text/css; charset=utf-8"},
    {"js", "text/javascript; charset=utf-8"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"svg", "image/svg+xml"},
    {"webp", "image/webp"},
    {"woff2", "font/woff2"},
    {"json", "application/json"},
    {"txt", "text/plain; charset=utf-8"},
    {"ico", "image/vnd.microsoft.icon"},
    {"gif", "image/gif"},
    {"avif", "image/avif"},
    {"jpeg", "image/jpeg"},
    {"htm", "text/html; charset=utf-8"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"wasm", "application/wasm"},
    {"xml", "application/xml"},
    {"csv", "text/csv; charset=utf-8"},
    {"md", "text/markdown; charset=utf-8"},
    {"pdf", "application/pdf"},
    {"woff", "font/woff"},
    {"mp4", "video/mp4"},
    {"webm", "video/webm"},
    {"mp3", "audio/mpeg"},
    {"zip", "application/zip"},
    {"gz", "application/gzip"},
};

constexpr char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

}  // namespace

bool is_compressible(MediaType type) {
    const std::string_view text = type.text();
    return text.starts_with("text/") || text.contains("json") || text.contains("xml") ||
           text.contains("wasm");
}

MediaType media_type(std::string_view file_name) {
    const std::string_view name = file_name.substr(file_name.rfind('/') + 1);
    const std::size_t dot = std::min(name.rfind('.'), name.size() - 1);
    const std::string_view extension = name.substr(dot + 1);
    const auto* const found = std::ranges::find_if(known, [&](const Known& candidate) {
        return std::ranges::equal(extension, candidate.extension, {}, lower);
    });
    return found == std::end(known) ? "application/octet-stream" : found->type;
}

}  // namespace web
