#pragma once

#include <string>
#include <string_view>

#include "status.h"

namespace web {

/// The answer when memory runs out (RFC 9110 §15.6.4). It's a constant, because there's no memory
/// to build one.
inline constexpr std::string_view service_unavailable =
    "HTTP/1.1 503 Service Unavailable\r\n"
    "Content-Length: 0\r\n"
    "Connection: close\r\n"
    "\r\n";

/// One answer: the application fills it in, the connection sends it.
class Response {
public:
    void status(Status status) { status_ = status; }

    /// A media type (RFC 9110 §8.3). The bytes must outlive the answer, so pass a literal.
    void content_type(std::string_view type) { content_type_ = type; }

    /// Sets a body that the response owns.
    void body(std::string text);

    /// Sets a body without copying it. The bytes must live as long as the program, so pass a
    /// literal.
    void body_reference(std::string_view bytes);

    /// Uses the body of the request that is being answered.
    void request_body(std::string_view bytes);

    /// Makes this the answer to a refused request, with the status as its text, and optionally an
    /// additional field line with its CRLF.
    void error(Status status, std::string field = "");

    // TODO(2.2): a function that formats status line and fields into a buffer of the caller's
    // (std::format_to_n, 256 bytes are enough), and one that gives the body as a view.
    /// The whole answer as sent to the client. An answer to HEAD has no body (RFC 9110 §9.3.2).
    std::string text(bool with_body) const;

private:
    Status status_ = Status::ok;
    std::string content_type_;
    std::string field_;
    std::string body_;
};

}  // namespace web
