#pragma once

#include <string_view>
#include <utility>

namespace web {

/// The status codes that this server sends (RFC 9110 §15).
enum class Status {
    ok = 200,
    bad_request = 400,
    not_found = 404,
    method_not_allowed = 405,
    length_required = 411,
    content_too_large = 413,
    uri_too_long = 414,
    expectation_failed = 417,
    fields_too_large = 431,
    not_implemented = 501,
    version_not_supported = 505,
};

/// Code and reason phrase as they appear in a status line: "404 Not Found".
constexpr std::string_view status_text(Status status) {
    switch (status) {
        case Status::ok: return "200 OK";
        case Status::bad_request: return "400 Bad Request";
        case Status::not_found: return "404 Not Found";
        case Status::method_not_allowed: return "405 Method Not Allowed";
        case Status::length_required: return "411 Length Required";
        case Status::content_too_large: return "413 Content Too Large";
        case Status::uri_too_long: return "414 URI Too Long";
        case Status::expectation_failed: return "417 Expectation Failed";
        case Status::fields_too_large: return "431 Request Header Fields Too Large";
        case Status::not_implemented: return "501 Not Implemented";
        case Status::version_not_supported: return "505 HTTP Version Not Supported";
    }
    std::unreachable();
}

}  // namespace web
