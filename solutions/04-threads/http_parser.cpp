#include "http_parser.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <utility>

namespace web {
namespace {

constexpr std::size_t npos = std::string_view::npos;

std::unexpected<Status> reject(Status status) {
    return std::unexpected(status);
}

bool is_alphanumeric(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// RFC 9110 §5.6.2.
bool is_token(std::string_view text) {
    constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
    for (const char c : text) {
        if (!is_alphanumeric(c) && !marks.contains(c)) return false;
    }
    return !text.empty();
}

// RFC 9110 §5.5: visible characters, spaces, tabs, and bytes from 0x80 on.
bool is_field_value(std::string_view text) {
    for (const char c : text) {
        if (c != '\t' && std::iscntrl(static_cast<unsigned char>(c))) return false;
    }
    return true;
}

// RFC 9112 §3.2: no spaces and no control characters. A client never sends a fragment.
bool is_target(std::string_view text) {
    for (const char c : text) {
        if (c <= 0x20 || c >= 0x7f || c == '#') return false;
    }
    return !text.empty();
}

bool is_digits(std::string_view text) {
    for (const char c : text) {
        if (!std::isdigit(static_cast<unsigned char>(c))) return false;
    }
    return !text.empty();
}

// RFC 3986 §3.2.2: a name or an IPv4 address. That grammar allows a comma, but we refuse it,
// because a proxy may have joined two Host fields with one (RFC 9110 §5.3).
bool is_name(std::string_view text) {
    constexpr std::string_view marks = "-._~%!$&'()*+;=";
    for (const char c : text) {
        if (!is_alphanumeric(c) && !marks.contains(c)) return false;
    }
    return !text.empty();
}

// RFC 3986 §3.2.2: an IPv6 address in brackets.
bool is_address(std::string_view text) {
    const std::size_t end = text.find_first_not_of("0123456789abcdefABCDEF:.", 1);
    return text.size() > 2 && text[0] == '[' && end == text.size() - 1 && text[end] == ']';
}

// RFC 3986 §3.2.3: any number of digits, even none. TCP has no port above 65535.
bool is_port(std::string_view text) {
    std::uint16_t port;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, port);
    return text.empty() || (error == std::errc{} && stopped == end);
}

// RFC 9110 §7.2: a host, then optionally a colon and a port.
bool is_authority(std::string_view text) {
    const std::size_t colon = text.find(':', text.find(']') + 1);
    const std::string_view host = text.substr(0, colon);
    if (!is_name(host) && !is_address(host)) return false;
    return colon == npos || is_port(text.substr(colon + 1));
}

Method find_method(std::string_view name) {
    if (name == "GET") return Method::get;
    if (name == "HEAD") return Method::head;
    if (name == "POST") return Method::post;
    if (name == "PUT") return Method::put;
    if (name == "DELETE") return Method::del;
    if (name == "OPTIONS") return Method::options;
    if (name == "PATCH") return Method::patch;
    return Method::unknown;
}

ParseResult parse_version(std::string_view text, Request& request) {
    if (text == "HTTP/1.1") {
        request.version = Version::http_1_1;
    } else if (text == "HTTP/1.0") {
        request.version = Version::http_1_0;
    } else {
        const bool well_formed = text.size() == 8 && text.starts_with("HTTP/") &&
                                 is_digits(text.substr(5, 1)) && text[6] == '.' &&
                                 is_digits(text.substr(7, 1));
        if (!well_formed) return reject(Status::bad_request);
        if (text[5] != '1') return reject(Status::version_not_supported);
        request.version = Version::http_1_1;  // RFC 9110 §6.2: a later minor version is compatible
    }
    return {};
}

// RFC 9110 §9.3.6: CONNECT has a host and a port, which isn't empty.
bool is_authority_form(std::string_view target) {
    return is_authority(target) && target.contains(':') && !target.ends_with(']') &&
           !target.ends_with(':');
}

// RFC 9112 §3.2: a path; a whole URI, whose authority the Host field repeats; or "*".
ParseResult parse_target(std::string_view target, Request& request) {
    constexpr std::string_view scheme = "http://";
    if (!is_target(target)) return reject(Status::bad_request);
    if (SameName()(target.substr(0, scheme.size()), scheme)) {
        target.remove_prefix(scheme.size());
        const std::size_t end = std::min(target.find_first_of("/?"), target.size());
        if (!is_authority(target.substr(0, end))) return reject(Status::bad_request);
        target.remove_prefix(end);
    } else if (target[0] != '/' && target != "*") {
        return reject(Status::bad_request);
    }
    const std::size_t mark = target.find('?');
    request.path = mark == 0 || target.empty() ? "/" : target.substr(0, mark);
    if (mark != npos) request.query = target.substr(mark + 1);
    return {};
}

std::string_view trim(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// RFC 9112 §5: name, colon, optional space, value, optional space.
ParseResult parse_field(std::string_view line, Request& request) {
    const std::size_t colon = line.find(':');
    if (colon == npos) return reject(Status::bad_request);
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    if (!is_token(name) || !is_field_value(value)) return reject(Status::bad_request);
    request.headers.push_back({name, value});
    return {};
}

struct Found {
    std::size_t count = 0;
    std::string_view value;  // the value of the last match
};

// For a few look-ups, a linear search takes fewer instructions than filling a hash map.
Found find_header(const Request& request, std::string_view name) {
    Found found;
    for (const Header& header : request.headers) {
        if (SameName()(header.name, name)) found = {found.count + 1, header.value};
    }
    return found;
}

// RFC 9112 §3.2: exactly one Host in HTTP/1.1. It's empty if the target has no authority.
ParseResult check_host(const Request& request) {
    const auto [count, host] = find_header(request, "host");
    const bool needed = request.version == Version::http_1_1;
    if (count > 1 || (needed && count == 0)) return reject(Status::bad_request);
    if (!host.empty() && !is_authority(host)) return reject(Status::bad_request);
    return {};
}

/// Removes the first element of a list and returns it, or nothing at the list's end. Empty elements
/// are skipped (RFC 9110 §5.6.1.2).
std::string_view take_element(std::string_view& list) {
    std::string_view element;
    while (element.empty() && !list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        element = trim(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return element;
}

// RFC 9112 §6.1 and §6.3: two framings at once, or one that HTTP/1.0 does not define, allow request
// smuggling. Only if chunked is the last coding is the end of the body known.
ParseResult check_transfer_encoding(const Request& request) {
    auto [lines, codings] = find_header(request, "transfer-encoding");
    if (lines == 0) return {};
    if (find_header(request, "content-length").count > 0) return reject(Status::bad_request);
    if (request.version == Version::http_1_0) return reject(Status::bad_request);
    std::string_view last;
    std::size_t count = 0;
    for (std::string_view coding; !(coding = take_element(codings)).empty(); ++count)
        last = coding;
    if (lines > 1 || !SameName()(last, "chunked")) return reject(Status::bad_request);
    return reject(count == 1 ? Status::length_required : Status::not_implemented);
}

// RFC 9112 §6.2: only digits, and only one such field.
ParseResult parse_content_length(Request& request) {
    const auto [count, length] = find_header(request, "content-length");
    if (count == 0) return {};
    if (count > 1 || !is_digits(length)) return reject(Status::bad_request);
    const char* end = length.data() + length.size();
    const auto [stopped, error] = std::from_chars(length.data(), end, request.content_length);
    if (error == std::errc::result_out_of_range || request.content_length > max_body) {
        return reject(Status::content_too_large);
    }
    return {};
}

// RFC 9110 §10.1.1; HTTP/1.0 does not define Expect.
ParseResult parse_expect(Request& request) {
    auto [lines, expectations] = find_header(request, "expect");
    if (lines == 0 || request.version == Version::http_1_0) return {};
    const std::string_view first = take_element(expectations);
    if (lines == 1 && first.empty()) return {};
    const bool alone = lines == 1 && take_element(expectations).empty();
    if (!alone || !SameName()(first, "100-continue")) return reject(Status::expectation_failed);
    request.expects_continue = true;
    return {};
}

}  // namespace

ParseResult parse_request_line(std::string_view line, Request& request) {
    const std::size_t target = line.find(' ') + 1;
    const std::size_t version = line.rfind(' ') + 1;
    if (target == 0 || target == version) return reject(Status::bad_request);
    const std::string_view method = line.substr(0, target - 1);
    if (!is_token(method)) return reject(Status::bad_request);
    request.method = find_method(method);
    const auto path = line.substr(target, version - target - 1);
    const bool is_connect = method == "CONNECT";
    if (is_connect && !is_authority_form(path)) return reject(Status::bad_request);
    if (auto r = is_connect ? ParseResult() : parse_target(path, request); !r) return r;
    if (auto result = parse_version(line.substr(version), request); !result) return result;
    if (request.method == Method::unknown) return reject(Status::not_implemented);
    return {};
}

ParseResult parse_fields(std::string_view lines, Request& request) {
    request.headers.reserve(Request::usual_headers);
    while (!lines.empty()) {
        const std::size_t end = lines.find("\r\n");
        if (auto result = parse_field(lines.substr(0, end), request); !result) return result;
        lines.remove_prefix(end + 2);
    }
    if (auto result = check_host(request); !result) return result;
    if (auto result = check_transfer_encoding(request); !result) return result;
    if (auto result = parse_content_length(request); !result) return result;
    return parse_expect(request);
}

std::expected<HttpParser::Progress, Status> HttpParser::parse(std::string_view buffer,
                                                              Request& request) {
    for (std::size_t lf; (lf = buffer.find('\n', scanned_)) != npos;) {
        scanned_ = lf + 1;
        if (auto result = check_limits(lf); !result) return reject(result.error());
        if (lf == line_ || buffer[lf - 1] != '\r') return reject(Status::bad_request);
        const bool empty = lf - 1 == std::exchange(line_, lf + 1);
        if (fields_ != npos && empty) {
            if (auto result = finish_head(buffer, request); !result) return reject(result.error());
            return Progress::complete;
        }
        if (fields_ == npos && empty && request_line_ == 0) {
            request_line_ = line_;  // RFC 9112 §2.2
        } else if (fields_ == npos) {
            if (auto result = end_request_line(buffer, lf, request); !result)
                return reject(result.error());
        }
    }
    scanned_ = buffer.size();
    if (auto result = check_limits(scanned_); !result) return reject(result.error());
    return Progress::incomplete;
}

// `end` bytes have arrived without the line feed that would end the request line or the head.
ParseResult HttpParser::check_limits(std::size_t end) const {
    if (fields_ == npos && end - request_line_ > max_request_line + 1) {
        return reject(Status::uri_too_long);
    }
    if (fields_ != npos && end - fields_ > max_fields + 1) return reject(Status::fields_too_large);
    return {};
}

ParseResult HttpParser::end_request_line(std::string_view buffer, std::size_t line_feed,
                                         Request& request) {
    fields_ = line_feed + 1;
    parsed_at_ = buffer.data();
    return parse_request_line(buffer.substr(request_line_, line_feed - 1 - request_line_), request);
}

// If the buffer has moved since the request line was parsed, the views made then point to freed
// memory.
ParseResult HttpParser::finish_head(std::string_view buffer, Request& request) const {
    if (buffer.data() != parsed_at_) {
        const std::size_t size = fields_ - 2 - request_line_;
        if (auto r = parse_request_line(buffer.substr(request_line_, size), request); !r) return r;
    }
    return parse_fields(buffer.substr(fields_, scanned_ - 2 - fields_), request);
}

}  // namespace web
