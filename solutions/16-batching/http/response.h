#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common_headers.h"
#include "media_type.h"
#include "open_file.h"
#include "representation.h"
#include "status.h"

namespace web {

/// The answer when any resource runs out (RFC 9110 §15.6.4, §10.2.3). A constant, because there may
/// be no memory to build it.
inline constexpr std::string_view service_unavailable =
    "HTTP/1.1 503 Service Unavailable\r\n"
    "Content-Length: 0\r\n"
    "Retry-After: 1\r\n"
    "Connection: close\r\n"
    "\r\n";

/// One answer: the application fills it in, the connection sends it.
class Response {
public:
    /// Maximum size of a head in bytes, without its field line of variable length.
    static constexpr std::size_t max_head = 384;

    void status(Status status) { status_ = status; }

    void content_type(MediaType type) { content_type_ = type; }

    /// Sets a body that the response owns.
    void body(std::string text);

    /// Sets a body without copying it. The bytes must live as long as the program, so pass a
    /// literal.
    void body_reference(std::string_view bytes) { body_ = bytes; }

    /// The body will come piece by piece from a BodySink: `size` bytes in total, or an unknown
    /// number.
    void stream(std::size_t size) {
        framing_ = Framing::length;
        external_size_ = size;
    }
    void stream() { framing_ = Framing::chunks; }

    /// Uses a file as the body. It is sent from where it is; an empty one need not be kept.
    void file(FileRange range) {
        external_size_ = range.size;
        if (range.size > 0) file_.emplace(std::move(range));
    }

    /// Sets the form of a file that is sent.
    void representation(const Representation& of) { representation_ = of; }

    /// Makes this the answer to a refused request: a page that names the status, and optionally an
    /// additional field line.
    void error(Status status, std::string field = "");

    Status status() const { return status_; }

    /// How a client finds the end of a body that is streamed (RFC 9112 §6.3).
    enum class Framing : std::uint8_t { not_streamed, length, chunks, close };

    Framing framing() const { return framing_; }

    /// For a client that does not support chunks (HTTP/1.0).
    void end_by_closing() { framing_ = Framing::close; }

    /// The maximum number of bytes that format_head() writes.
    std::size_t max_head_size() const {
        return max_head + field_size_ + (representation_ ? Representation::max_fields : 0);
    }

    /// Writes the status line and the fields to `out` and returns their end. `connection` is a
    /// field line with its CRLF, or empty.
    char* format_head(char* out, const CommonHeaders& common_headers,
                      std::string_view connection) const;

    std::string_view body() const { return body_; }

    bool has_file() const { return file_.has_value(); }

    /// The file to send as the body, for the caller to move from. There must be one.
    FileRange&& take_file() { return std::move(*file_); }

private:
    char* format_content(char* out) const;

    MediaType content_type_;
    std::string_view body_;
    std::string kept_;            // optionally a field line, then the body
    std::size_t field_size_ = 0;  // length of the field line in kept_
    // The length of a body that is not in body_: that of a file, or of a streamed body.
    std::size_t external_size_ = 0;
    std::optional<FileRange> file_;
    std::optional<Representation> representation_;
    Status status_ = Status::ok;
    Framing framing_ = Framing::not_streamed;
};

}  // namespace web
