// Wraps a parser that expects whole lines in what the connection does before: finding them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "verdict.h"

namespace {

constexpr std::size_t npos = std::string_view::npos;

/// Where the request line begins: after one empty line (RFC 9112 §2.2).
std::size_t line_start(std::string_view text) {
    return text.starts_with("\r\n") ? 2 : 0;
}

/// Whether a line feed within `text` lacks its carriage return.
bool has_bare_line_feed(std::string_view text) {
    for (std::size_t at = 0; (at = text.find('\n', at)) != npos; ++at) {
        if (at == 0 || text[at - 1] != '\r') return true;
    }
    return false;
}

fuzz::Verdict parse_head(std::string_view text, std::size_t start, web::Request& request) {
    const std::string_view fields = text.substr(start);
    std::size_t end = fields.starts_with("\r\n") ? 0 : fields.find("\r\n\r\n");
    if (end != npos && end != 0) end += 2;
    const std::string_view seen = fields.substr(0, std::min(end, web::max_fields + 2));
    if (has_bare_line_feed(seen)) return fuzz::refused(web::Status::bad_request);
    if (seen.size() > web::max_fields) {
        const bool certain = end != npos || seen.size() > web::max_fields + 1;
        return certain ? fuzz::refused(web::Status::fields_too_large) : fuzz::incomplete();
    }
    if (end == npos) return fuzz::incomplete();
    const auto result = web::parse_fields(std::string(seen), request);
    return result ? fuzz::complete(request, start + end + 2) : fuzz::refused(result.error());
}

fuzz::Verdict parse(std::string_view text) {
    web::Request request;
    const std::size_t start = line_start(text);
    const std::size_t end = text.find('\n', start);
    if (end == npos ? text.size() - start > web::max_request_line + 1
                    : end - start > web::max_request_line + 1) {
        return fuzz::refused(web::Status::uri_too_long);
    }
    if (end == npos) return fuzz::incomplete();
    if (end == start || text[end - 1] != '\r') return fuzz::refused(web::Status::bad_request);
    const std::string line(text.substr(start, end - 1 - start));
    if (const auto result = web::parse_request_line(line, request); !result) {
        return fuzz::refused(result.error());
    }
    return parse_head(text, end + 1, request);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    fuzz::report(text, parse(text));
    return 0;
}
