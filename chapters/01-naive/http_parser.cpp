// TODO(1.2): the parser. Write it in whatever way comes naturally. The checks define which requests
// are valid, and RFC 9110 and RFC 9112 explain why. A refused request is reported as a status.
#include "http_parser.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

namespace web {
namespace {

// Given: small helpers, and the parts of the grammar that teach little beyond the others. The
// attribute [[maybe_unused]] keeps the compiler from objecting until you call the function.

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

// RFC 9110 §9.3.6: CONNECT has a host and a port, which isn't empty.
[[maybe_unused]] bool is_authority_form(const std::string& target) {
    return is_authority(target) && target.contains(':') && !target.ends_with(']') &&
           !target.ends_with(':');
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

// RFC 9110 §10.1.1; HTTP/1.0 does not define Expect.
[[maybe_unused]] ParseResult parse_expect(Request& request) {
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

// Method, one space, target, one space, version. What applies first wins:
// - 400: any other shape; a method that is no token (RFC 9110 §5.6.2); a target that is empty, has
//   bytes outside 0x21 to 0x7e or a '#', or is neither a path, nor "*", nor http://host and a path;
//   a version that is not HTTP/ digit . digit. The target of CONNECT must be a host and a port
//   instead, and the port not empty (RFC 9110 §9.3.6).
// - 505: a major version other than 1. Versions 1.2 to 1.9 are processed as 1.1 (RFC 9110 §6.2).
// - 501: a method that Method does not list.
// The path ends at the first '?'; the query follows it.
ParseResult parse_request_line(const std::string& line, Request& request) {
    request.path = line;
    return std::unexpected(Status::not_implemented);
}

// Each line: name, colon, value, with spaces and tabs around the value dropped. Then, in this
// order:
// - 400: a line without a colon, a name that is no token (so no space before the colon and no line
//   that begins with one), a control character other than a tab in a value, a NUL anywhere.
// - 400: Host missing in 1.1, repeated, or neither empty nor a host with an optional port. A host
//   is a name without a comma or an address (RFC 3986 §3.2.2); a port is a colon and digits
//   (§3.2.3), up to 65535 or none. The same rules apply to the host in a target.
// - Transfer-Encoding: 400 together with Content-Length, in 1.0, or if the last coding is not
//   "chunked"; 411 if "chunked" is the only coding; otherwise 501.
// - Content-Length: 400 unless it appears once and is all digits; 413 above max_body.
// - Expect: 417 unless it appears once and 100-continue is its only element; ignored without
//   elements, and in 1.0, which does not define it.
// Both Transfer-Encoding and Expect are lists, whose elements are separated by commas and whose
// empty elements do not count (RFC 9110 §5.6.1.2).
ParseResult parse_fields(const std::string& lines, Request& request) {
    // TODO(1.3): the lines, and Host.
    // TODO(1.4): Transfer-Encoding and Content-Length.
    // TODO(1.5): Expect.
    request.headers.clear();
    return std::unexpected(lines.empty() ? Status::bad_request : Status::not_implemented);
}

}  // namespace web
