// TODO(1.2): the parser. Write it in whatever way comes naturally. The checks define which requests
// are valid, and RFC 9110 and RFC 9112 explain why. A refused request is reported as a status.
#include "http_parser.h"

namespace web {

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
