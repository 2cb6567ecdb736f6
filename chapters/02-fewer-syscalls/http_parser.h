#pragma once

#include <cstddef>
#include <expected>
#include <string>

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
ParseResult parse_request_line(const std::string& line, Request& request);

/// Fills in the headers and the framing of the body from field lines, each with its CRLF (RFC 9112
/// §5 and §6). The request line must have been parsed before.
ParseResult parse_fields(const std::string& lines, Request& request);

// TODO(2.3): find the end of one request's head in bytes that arrive in pieces. Make no system
// call, and search no byte twice: each search starts where the previous one stopped.
class HttpParser {
public:
    enum class Progress { incomplete, complete };

    /// `buffer` holds everything received so far and may have moved since the last call. Once the
    /// head is complete, `request` is filled in.
    std::expected<Progress, Status> parse(std::string_view buffer, Request& request);

    /// Where the body begins, once the head is complete.
    std::size_t head_size() const { return scanned_; }

private:
    std::size_t scanned_ = 0;
};

}  // namespace web
