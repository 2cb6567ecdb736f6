#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common_headers.h"
#include "file.h"
#include "media_type.h"
#include "representation.h"
#include "status.h"

namespace web {

/// The answer when anything runs out (RFC 9110 §15.6.4, §10.2.3): ready made, for there may be no
/// memory to make it of.
inline constexpr std::string_view service_unavailable =
    "HTTP/1.1 503 Service Unavailable\r\n"
    "Content-Length: 0\r\n"
    "Retry-After: 1\r\n"
    "Connection: close\r\n"
    "\r\n";

/// One answer: the application fills it in, the connection sends it.
class Response {
public:
    /// The most bytes of a head, but for its field line of any length.
    static constexpr std::size_t max_head = 384;

    /// `file` is empty and gets the file that is the body, if there is one.
    explicit Response(FileRange& file) : file_(&file) {}

    void status(Status status) { status_ = status; }

    void content_type(MediaType type) { content_type_ = type; }

    /// A body that the response keeps.
    void body(std::string text);

    /// A body that lives as long as the program: a literal.
    void body_reference(std::string_view bytes) { body_ = bytes; }

    /// A body that comes piece by piece from a BodySink: so many bytes in all, or nobody knows how
    /// many.
    void stream(std::size_t size) {
        framing_ = Framing::length;
        streamed_ = size;
    }
    void stream() { framing_ = Framing::chunks; }

    /// A file is the body. It is sent from where it is; an empty one need not be kept.
    void file(FileRange range) {
        if (range.size > 0) *file_ = std::move(range);
    }

    /// Which form of a file it is.
    void representation(const Representation& of) { representation_ = of; }

    /// The answer to a request that is not served: a page that names the status; and what else the
    /// client has to know, as a field line.
    void error(Status status, std::string field = "");

    Status status() const { return status_; }

    /// How a client finds the end of a body that is streamed (RFC 9112 §6.3).
    enum class Framing : std::uint8_t { not_streamed, length, chunks, close };

    Framing framing() const { return framing_; }

    /// For a client that knows no chunks.
    void end_by_closing() { framing_ = Framing::close; }

    /// The most bytes that format_head() writes.
    std::size_t max_head_size() const {
        return max_head + field_size_ + (representation_ ? Representation::max_fields : 0);
    }

    /// Writes status line and fields and returns where they end. `connection` is a field line, or
    /// nothing.
    char* format_head(char* out, const CommonHeaders& common_headers,
                      std::string_view connection) const;

    std::string_view body() const { return body_; }

private:
    char* format_content(char* out) const;

    MediaType content_type_;
    std::string_view body_;
    FileRange* file_;
    std::optional<Representation> representation_;
    std::string kept_;            // perhaps a field line, then the body
    std::size_t field_size_ = 0;  // of that line
    std::size_t streamed_ = 0;    // bytes that the body will have
    Status status_ = Status::ok;
    Framing framing_ = Framing::not_streamed;
};

}  // namespace web
