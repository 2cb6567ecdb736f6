#include "http_parser.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

namespace web {
namespace {

constexpr std::size_t npos = std::string::npos;

std::unexpected<Status> reject(Status status) {
    return std::unexpected(status);
}

std::string lower_case(std::string text) {
    for (char& c : text)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

std::string trim(const std::string& text) {
    const std::string rest = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
    return rest.substr(0, rest.find_last_not_of(" \t") + 1);
}

bool is_alphanumeric(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// RFC 9110 §5.6.2.
bool is_token(const std::string& text) {
    for (const char c : text) {
        if (!is_alphanumeric(c) && std::strchr("!#$%&'*+-.^_`|~", c) == nullptr) return false;
    }
    return !text.empty();
}

// RFC 9110 §5.5: visible characters, spaces, tabs, and bytes from 0x80 on.
bool is_field_value(const std::string& text) {
    for (const char c : text) {
        if (c != '\t' && std::iscntrl(static_cast<unsigned char>(c))) return false;
    }
    return true;
}

// RFC 9112 §3.2: no spaces and no control characters. A client never sends a fragment.
bool is_target(const std::string& text) {
    for (const char c : text) {
        if (c <= 0x20 || c >= 0x7f || c == '#') return false;
    }
    return !text.empty();
}

bool is_digits(const std::string& text) {
    for (const char c : text) {
        if (!std::isdigit(static_cast<unsigned char>(c))) return false;
    }
    return !text.empty();
}

// RFC 3986 §3.2.2: a name or an IPv4 address. That grammar allows a comma, but we refuse it,
// because a proxy may have joined two Host fields with one (RFC 9110 §5.3).
bool is_name(const std::string& text) {
    for (const char c : text) {
        if (!is_alphanumeric(c) && std::strchr("-._~%!$&'()*+;=", c) == nullptr) return false;
    }
    return !text.empty();
}

// RFC 3986 §3.2.2: an IPv6 address in brackets.
bool is_address(const std::string& text) {
    const std::size_t end = text.find_first_not_of("0123456789abcdefABCDEF:.", 1);
    return text.size() > 2 && text[0] == '[' && end == text.size() - 1 && text[end] == ']';
}

// RFC 3986 §3.2.3: any number of digits, even none. TCP has no port above 65535.
bool is_port(const std::string& text) {
    const std::size_t first = text.find_first_not_of('0');
    if (first == npos) return true;
    return is_digits(text) && text.size() - first <= 5 && std::atoi(text.c_str()) <= 65535;
}

// RFC 9110 §7.2: a host, then optionally a colon and a port.
bool is_authority(const std::string& text) {
    const std::size_t colon = text.find(':', text.find(']') + 1);
    const std::string host = text.substr(0, colon);
    if (!is_name(host) && !is_address(host)) return false;
    return colon == npos || is_port(text.substr(colon + 1));
}

Method find_method(const std::string& name) {
    if (name == "GET") return Method::get;
    if (name == "HEAD") return Method::head;
    if (name == "POST") return Method::post;
    if (name == "PUT") return Method::put;
    if (name == "DELETE") return Method::del;
    if (name == "OPTIONS") return Method::options;
    if (name == "PATCH") return Method::patch;
    return Method::unknown;
}

ParseResult parse_version(const std::string& text, Request& request) {
    if (text == "HTTP/1.1") {
        request.version = Version::http_1_1;
    } else if (text == "HTTP/1.0") {
        request.version = Version::http_1_0;
    } else {
        char major, minor, after;
        const int found = std::sscanf(text.c_str(), "HTTP/%c.%c%c", &major, &minor, &after);
        if (found != 2 || !is_digits({major, minor})) return reject(Status::bad_request);
        if (major != '1') return reject(Status::version_not_supported);
        request.version = Version::http_1_1;  // RFC 9110 §6.2: a later minor version is compatible
    }
    return {};
}

// RFC 9110 §9.3.6: CONNECT has a host and a port, which isn't empty.
bool is_authority_form(const std::string& target) {
    return is_authority(target) && target.contains(':') && !target.ends_with(']') &&
           !target.ends_with(':');
}

// RFC 9112 §3.2: a path; a whole URI, whose authority the Host field repeats; or "*".
ParseResult parse_target(const std::string& target, Request& request) {
    if (!is_target(target)) return reject(Status::bad_request);
    std::string path = target;
    if (lower_case(target).starts_with("http://")) {
        const std::string rest = target.substr(std::strlen("http://"));
        const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
        const std::string authority = rest.substr(0, end);
        if (!is_authority(authority)) return reject(Status::bad_request);
        path = rest.substr(end);
        if (path.empty() || path[0] == '?') path = "/" + path;
    }
    if (path[0] != '/' && path != "*") return reject(Status::bad_request);
    const std::size_t mark = path.find('?');
    request.path = path.substr(0, mark);
    if (mark != npos) request.query = path.substr(mark + 1);
    return {};
}

// RFC 9112 §5: name, colon, optional space, value, optional space.
ParseResult parse_field(const std::string& line, Request& request) {
    const char* colon = std::strchr(line.c_str(), ':');
    if (colon == nullptr) return reject(Status::bad_request);
    const std::string name = line.substr(0, static_cast<std::size_t>(colon - line.c_str()));
    const std::string value = trim(colon + 1);
    if (!is_token(name) || !is_field_value(value)) return reject(Status::bad_request);
    request.headers.emplace(lower_case(name), value);
    return {};
}

// RFC 9112 §3.2: exactly one Host in HTTP/1.1. It's empty if the target has no authority.
ParseResult check_host(const Request& request) {
    const std::size_t hosts = request.headers.count("host");
    const bool needed = request.version == Version::http_1_1;
    if (hosts > 1 || (needed && hosts == 0)) return reject(Status::bad_request);
    if (hosts == 0) return {};
    const std::string host = request.headers.find("host")->second;
    if (!host.empty() && !is_authority(host)) return reject(Status::bad_request);
    return {};
}

// Empty elements of a list are ignored (RFC 9110 §5.6.1.2).
std::vector<std::string> split_list(const std::string& list) {
    std::vector<std::string> elements;
    std::istringstream rest(lower_case(list));
    for (std::string element; std::getline(rest, element, ',');) {
        element = trim(element);
        if (!element.empty()) elements.push_back(element);
    }
    return elements;
}

// RFC 9112 §6.1 and §6.3: two framings at once, or one that HTTP/1.0 does not define, allow request
// smuggling. Only if chunked is the last coding is the end of the body known.
ParseResult check_transfer_encoding(const Request& request) {
    const std::size_t lines = request.headers.count("transfer-encoding");
    if (lines == 0) return {};
    if (request.headers.contains("content-length")) return reject(Status::bad_request);
    if (request.version == Version::http_1_0) return reject(Status::bad_request);
    const auto codings = split_list(request.headers.find("transfer-encoding")->second);
    if (lines > 1 || codings.empty() || codings.back() != "chunked") {
        return reject(Status::bad_request);
    }
    return reject(codings.size() == 1 ? Status::length_required : Status::not_implemented);
}

// RFC 9112 §6.2: only digits, and only one such field.
ParseResult parse_content_length(Request& request) {
    const std::size_t lengths = request.headers.count("content-length");
    if (lengths == 0) return {};
    const std::string length = request.headers.find("content-length")->second;
    if (lengths > 1 || !is_digits(length)) return reject(Status::bad_request);
    const std::size_t first = length.find_first_not_of('0');
    const std::size_t digits = first == npos ? 0 : length.size() - first;
    if (digits > std::to_string(max_body).size()) return reject(Status::content_too_large);
    request.content_length = static_cast<std::size_t>(std::atoll(length.c_str()));
    if (request.content_length > max_body) return reject(Status::content_too_large);
    return {};
}

// RFC 9110 §10.1.1; HTTP/1.0 does not define Expect.
ParseResult parse_expect(Request& request) {
    const std::size_t lines = request.headers.count("expect");
    if (lines == 0 || request.version == Version::http_1_0) return {};
    const auto expectations = split_list(request.headers.find("expect")->second);
    if (lines == 1 && expectations.empty()) return {};
    if (lines > 1 || expectations.size() > 1 || expectations[0] != "100-continue") {
        return reject(Status::expectation_failed);
    }
    request.expects_continue = true;
    return {};
}

}  // namespace

ParseResult parse_request_line(const std::string& line, Request& request) {
    // TODO(2.4): this clears 24 KiB before it looks at the first byte. string_view::find splits a
    // line in place. Below, std::from_chars reads a number from a view, and std::string_view has
    // the other functions you need.
    char method[max_request_line + 1] = {};
    char target[max_request_line + 1] = {};
    char version[max_request_line + 1] = {};
    int read = 0;
    const int found = std::sscanf(line.c_str(), "%8192[^ ]%*1[ ]%8192[^ ]%*1[ ]%8192[^ ]%n", method,
                                  target, version, &read);
    const bool whole = found == 3 && static_cast<std::size_t>(read) == line.size();
    if (!whole || !is_token(method)) return reject(Status::bad_request);
    request.method = find_method(method);
    const bool is_connect = method == std::string("CONNECT");
    if (is_connect && !is_authority_form(target)) return reject(Status::bad_request);
    if (auto r = is_connect ? ParseResult() : parse_target(target, request); !r) return r;
    if (auto result = parse_version(version, request); !result) return result;
    if (request.method == Method::unknown) return reject(Status::not_implemented);
    return {};
}

ParseResult parse_fields(const std::string& lines, Request& request) {
    const char* line = lines.c_str();
    while (const char* end = std::strstr(line, "\r\n")) {
        const std::string field(line, end);
        if (auto result = parse_field(field, request); !result) return result;
        line = end + 2;
    }
    if (line != lines.c_str() + lines.size()) return reject(Status::bad_request);
    if (auto result = check_host(request); !result) return result;
    if (auto result = check_transfer_encoding(request); !result) return result;
    if (auto result = parse_content_length(request); !result) return result;
    return parse_expect(request);
}

// TODO(2.3): for each line feed not yet scanned: does it exceed a limit (check the limits first),
// does a carriage return precede it, does it end the request line or the head? Parse the request
// line as soon as it is complete.
std::expected<HttpParser::Progress, Status> HttpParser::parse(std::string_view, Request&) {
    return reject(Status::not_implemented);
}

}  // namespace web
