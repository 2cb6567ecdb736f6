#pragma once

#include <cstddef>
#include <span>
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
    /// Maximum size of a head in bytes.
    static constexpr std::size_t max_head = 256;

    void status(Status status) { status_ = status; }

    /// A media type (RFC 9110 §8.3). Only a literal, because the bytes must outlive the answer, and
    /// one short enough to leave half of the head for the other fields.
    template <std::size_t size>
    void content_type(const char (&type)[size]) {
        static_assert(size <= max_head / 2);
        content_type_ = {type, size - 1};
    }

    /// Sets a body that the response owns.
    void body(std::string text);

    /// Sets a body without copying it. The bytes must live as long as the program, so pass a
    /// literal.
    void body_reference(std::string_view bytes) { body_ = bytes; }

    /// Uses the body of the request that is being answered.
    void request_body(std::string_view bytes) { body_ = bytes; }

    /// Makes this the answer to a refused request, with the status as its text, and optionally an
    /// additional field line with its CRLF.
    void error(Status status, std::string field = "");

    /// Writes the status line and the fields into `buffer`, which needs max_head bytes, and returns
    /// a view of them.
    std::string_view format_head(std::span<char> buffer) const;

    std::string_view body() const { return body_; }

private:
    // TODO(3.3): order these too. A status fits in 16 bits.
    Status status_ = Status::ok;
    std::string_view content_type_;
    std::string_view body_;
    std::string kept_;            // optionally a field line, then the body
    std::size_t field_size_ = 0;  // length of the field line in kept_
};

}  // namespace web
