#pragma once

#include <cstddef>
#include <expected>
#include <string>

#include "request.h"
#include "status.h"

namespace web {

/// Bytes of a request line, without its CRLF; more is 414 (RFC 9110 §15.5.15).
inline constexpr std::size_t max_request_line = 8 * 1024;
/// Bytes of all field lines with their CRLFs; more is 431 (RFC 6585 §5).
inline constexpr std::size_t max_fields = 64 * 1024;
/// Bytes of a body; more is 413 (RFC 9110 §15.5.14).
inline constexpr std::size_t max_body = 10 * 1024 * 1024;

/// Nothing, or the status that refuses the request.
using ParseResult = std::expected<void, Status>;

/// Fills in method, target and version from a request line without its CRLF (RFC 9112 §3).
ParseResult parse_request_line(const std::string& line, Request& request);

/// Fills in the headers, and how the body is framed, from field lines, each with its CRLF
/// (RFC 9112 §5 and §6). Needs the request line to have been parsed.
ParseResult parse_fields(const std::string& lines, Request& request);

// TODO(2): finds the end of one request's head in bytes that arrive in pieces. It makes no system
// call, and no byte is searched twice: the next search starts where the last one stopped.
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
