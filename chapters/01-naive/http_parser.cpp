// TODO(1): the parser. Write it as you would any day; the checks say what a request may look like,
// and RFC 9110 and RFC 9112 say why. What refuses a request is a status.
#include "http_parser.h"

namespace web {

// Method, one space, target, one space, version. What applies first wins:
// - 400: any other shape; a method that is no token (RFC 9110 §5.6.2); a target that is empty, has
//   bytes outside 0x21 to 0x7e or a '#', or is neither a path, nor "*", nor http://host and a path;
//   a version that is not HTTP/ digit . digit.
// - 505: a version that is neither 1.0 nor 1.1.
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
// - 400: Host missing in 1.1, repeated, or neither empty nor a host, perhaps with a port: a name
//   without a comma or an address (RFC 3986 §3.2.2), a colon, digits (§3.2.3) up to 65535 or none.
//   A target's host is judged alike.
// - Transfer-Encoding: 400 beside Content-Length, in 1.0, or if the last coding is not "chunked";
//   411 if it is the only one; else 501.
// - Content-Length: 400 unless it stands once and is all digits; 413 above max_body.
// - Expect: 417 unless it stands once and is 100-continue; 1.0 does not know it.
ParseResult parse_fields(const std::string& lines, Request& request) {
    request.headers.clear();
    return std::unexpected(lines.empty() ? Status::bad_request : Status::not_implemented);
}

}  // namespace web
