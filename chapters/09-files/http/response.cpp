#include "response.h"

#include <charconv>
#include <utility>

namespace web {

void Response::body(std::string text) {
    kept_ = std::move(text);
    body_ = kept_;
}

void Response::error(Status status) {
    status_ = status;
    content_type_ = "text/plain; charset=utf-8";
    body(std::string(status_text(status)) + "\n");
}

// TODO(9.1): every answer begins with the text that CommonHeaders has prepared.
// TODO(9.4): an error may have an additional field line.
// TODO(9.5): Content-Length may be the size of a file.
// std::format parses its format string at run time. Here every piece is a plain copy.
char* Response::format_head(char* out, std::string_view connection) const {
    const auto append = [&out](std::string_view piece) { out += piece.copy(out, piece.size()); };
    if (status_ == Status::ok) {
        append(status_line(Status::ok));  // its length is a constant: two moves, no call
    } else {
        append(status_line(status_));
    }
    append("Content-Type: ");
    append(content_type_);
    append("\r\nContent-Length: ");
    out = std::to_chars(out, out + 20, body_.size()).ptr;
    append("\r\n");
    if (!connection.empty()) append(connection);
    append("\r\n");
    return out;
}

}  // namespace web
