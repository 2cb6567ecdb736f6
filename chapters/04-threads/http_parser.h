#pragma once

#include <cstddef>
#include <expected>
#include <string_view>

#include "request.h"
#include "status.h"

namespace web {

/// Maximum length of a request line in bytes, without its CRLF. A longer one gets 414 (RFC 9110
/// §15.5.15).
inline constexpr std::size_t max_request_line = 8 * 1024;
/// Maximum length of all field lines in bytes, with their CRLFs. Longer gets 431 (RFC 6585 §5).
inline constexpr std::size_t max_fields = 64 * 1024;
/// Maximum length of a body in bytes. A longer one gets 413 (RFC 9110 §15.5.14).
inline constexpr std::size_t max_body = 10 * 1024 * 1024;

/// The error is the status to refuse the request with.
using ParseResult = std::expected<void, Status>;

/// Fills in method, target and version from a request line without its CRLF (RFC 9112 §3).
ParseResult parse_request_line(std::string_view line, Request& request);

/// Fills in the headers and the framing of the body from field lines, each with its CRLF (RFC 9112
/// §5 and §6). The request line must have been parsed before.
ParseResult parse_fields(std::string_view lines, Request& request);

/// Finds the end of one request's head in bytes that arrive in pieces. Each search continues where
/// the previous one stopped. Makes no system calls.
class HttpParser {
public:
    enum class Progress { incomplete, complete };

    /// `buffer` holds everything received so far and may have moved since the last call. Once the
    /// head is complete, `request` has views of it.
    std::expected<Progress, Status> parse(std::string_view buffer, Request& request);

    /// Where the body begins, once the head is complete.
    std::size_t head_size() const { return scanned_; }

private:
    static constexpr std::size_t npos = std::string_view::npos;

    ParseResult end_request_line(std::string_view buffer, std::size_t line_feed, Request& request);
    ParseResult finish_head(std::string_view buffer, Request& request) const;
    ParseResult check_limits(std::size_t end) const;

    std::size_t scanned_ = 0;          // every line end before this has been found
    std::size_t line_ = 0;             // where the line being scanned begins
    std::size_t request_line_ = 0;     // where the request line begins, after a skipped empty line
    std::size_t fields_ = npos;        // where the field lines begin
    const char* parsed_at_ = nullptr;  // where the buffer was when its views were made
};

}  // namespace web
