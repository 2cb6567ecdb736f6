#include "response.h"

#include <charconv>
#include <utility>

namespace web {

void Response::body(std::string text) {
    kept_ = std::move(text);
    field_size_ = 0;
    body_ = kept_;
}

void Response::error(Status status, std::string field) {
    status_ = status;
    content_type_ = "text/plain; charset=utf-8";
    field_size_ = field.size();
    kept_ = std::move(field) + std::string(status_text(status)) + "\n";
    body_ = std::string_view(kept_).substr(field_size_);
}

// std::format parses its format string at run time. Here every piece is a plain copy.
char* Response::format_head(char* out, std::string_view connection) const {
    const auto append = [&out](std::string_view piece) { out += piece.copy(out, piece.size()); };
    if (status_ == Status::ok) {
        append(status_line(Status::ok));  // its length is a constant: two moves, no call
    } else {
        append(status_line(status_));
        append({kept_.data(), field_size_});
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
