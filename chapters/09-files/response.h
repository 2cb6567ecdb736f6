#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "status.h"

namespace web {

/// The answer when memory runs out (RFC 9110 §15.6.4): ready made, for there is none to make it of.
inline constexpr std::string_view service_unavailable =
    "HTTP/1.1 503 Service Unavailable\r\n"
    "Content-Length: 0\r\n"
    "Connection: close\r\n"
    "\r\n";

/// One answer: the application fills it in, the connection sends it.
class Response {
public:
    // TODO(9): the body may be a FileRange, which belongs to the connection that will send it: the
    // response is made with a reference to it. What a file's name says that it is comes from a
    // table, so content_type() takes a MediaType.
    // TODO(9): a head has no fixed bound any more: Location is as long as the name and the query.
    // max_head counts the rest, and has to grow with CommonHeaders. See who asks for room by it.
    /// The most bytes that a head can have.
    static constexpr std::size_t max_head = 256;

    void status(Status status) { status_ = status; }

    /// A media type (RFC 9110 §8.3): a literal, for the bytes must outlive the answer, and one that
    /// leaves half of the head for all the rest.
    template <std::size_t size>
    void content_type(const char (&type)[size]) {
        static_assert(size <= max_head / 2);
        content_type_ = {type, size - 1};
    }

    /// A body that the response keeps.
    void body(std::string text);

    /// A body that lives as long as the program: a literal.
    void body_reference(std::string_view bytes) { body_ = bytes; }

    /// The body of the request that is being answered. It is sent from where it is.
    void request_body(std::string_view bytes) {
        body_ = bytes;
        has_request_body_ = true;
    }

    // TODO(9): a small HTML page now: text/html; charset=utf-8, from <!doctype html> on, at most
    // 1 KiB, with code and reason in it. 301 and 405 come with a field line more.
    /// The answer to a request that is not served: the status as text.
    void error(Status status);

    /// Writes status line and fields, at most max_head bytes, and returns where they end.
    /// `connection` is a field line, or nothing.
    char* format_head(char* out, std::string_view connection) const;

    std::string_view body() const { return body_; }

    bool has_request_body() const { return has_request_body_; }

private:
    std::string_view content_type_;
    std::string_view body_;
    std::string kept_;
    Status status_ = Status::ok;
    bool has_request_body_ = false;
};

}  // namespace web
