#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

namespace web {

/// The status codes that this server sends (RFC 9110 §15).
enum class Status : std::uint16_t {
    ok = 200,
    partial_content = 206,
    moved_permanently = 301,
    not_modified = 304,
    permanent_redirect = 308,
    bad_request = 400,
    not_found = 404,
    method_not_allowed = 405,
    precondition_failed = 412,
    content_too_large = 413,
    uri_too_long = 414,
    range_not_satisfiable = 416,
    expectation_failed = 417,
    fields_too_large = 431,
    not_implemented = 501,
    service_unavailable = 503,
    version_not_supported = 505,
};

/// The status line with its CRLF.
constexpr std::string_view status_line(Status status) {
    switch (status) {
        case Status::ok: return "HTTP/1.1 200 OK\r\n";
        case Status::partial_content: return "HTTP/1.1 206 Partial Content\r\n";
        case Status::moved_permanently: return "HTTP/1.1 301 Moved Permanently\r\n";
        case Status::not_modified: return "HTTP/1.1 304 Not Modified\r\n";
        case Status::permanent_redirect: return "HTTP/1.1 308 Permanent Redirect\r\n";
        case Status::bad_request: return "HTTP/1.1 400 Bad Request\r\n";
        case Status::not_found: return "HTTP/1.1 404 Not Found\r\n";
        case Status::method_not_allowed: return "HTTP/1.1 405 Method Not Allowed\r\n";
        case Status::precondition_failed: return "HTTP/1.1 412 Precondition Failed\r\n";
        case Status::content_too_large: return "HTTP/1.1 413 Content Too Large\r\n";
        case Status::uri_too_long: return "HTTP/1.1 414 URI Too Long\r\n";
        case Status::range_not_satisfiable: return "HTTP/1.1 416 Range Not Satisfiable\r\n";
        case Status::expectation_failed: return "HTTP/1.1 417 Expectation Failed\r\n";
        case Status::fields_too_large: return "HTTP/1.1 431 Request Header Fields Too Large\r\n";
        case Status::not_implemented: return "HTTP/1.1 501 Not Implemented\r\n";
        case Status::service_unavailable: return "HTTP/1.1 503 Service Unavailable\r\n";
        case Status::version_not_supported: return "HTTP/1.1 505 HTTP Version Not Supported\r\n";
    }
    std::unreachable();
}

/// Code and reason phrase: "404 Not Found".
constexpr std::string_view status_text(Status status) {
    std::string_view text = status_line(status);
    text.remove_prefix(std::string_view("HTTP/1.1 ").size());
    text.remove_suffix(std::string_view("\r\n").size());
    return text;
}

}  // namespace web
