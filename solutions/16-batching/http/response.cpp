#include "response.h"

#include <charconv>
#include <utility>

namespace web {
namespace {

std::string page_of(Status status) {
    const std::string text(status_text(status));
    return "<!doctype html>\n"
           "<html lang=\"en\">\n"
           "<title>" +
           text +
           "</title>\n"
           "<h1>" +
           text +
           "</h1>\n"
           "</html>\n";
}

}  // namespace

void Response::body(std::string text) {
    kept_ = std::move(text);
    field_size_ = 0;
    body_ = kept_;
}

void Response::error(Status status, std::string field) {
    status_ = status;
    content_type_ = "text/html; charset=utf-8";
    field_size_ = field.size();
    kept_ = std::move(field) + page_of(status);
    body_ = std::string_view(kept_).substr(field_size_);
}

// std::format parses its format string at run time. Here every piece is a plain copy. A 304 has no
// content to describe (RFC 9110 §15.4.5).
char* Response::format_head(char* out, const CommonHeaders& common_headers,
                            std::string_view connection) const {
    const auto append = [&out](std::string_view piece) { out += piece.copy(out, piece.size()); };
    const bool has_content = status_ != Status::not_modified;
    if (status_ == Status::ok) [[likely]] {
        append(common_headers.of_ok());  // its length is a constant: a few moves, no call
    } else {
        append(status_line(status_));
        append({kept_.data(), field_size_});
        append(has_content ? common_headers.fields() : common_headers.fields_of_nothing());
    }
    if (has_content) out = format_content(out);
    if (representation_) {
        out = has_content ? representation_->format(out, common_headers)
                          : representation_->format_identity(out);
    }
    if (!connection.empty()) append(connection);
    append("\r\n");
    return out;
}

char* Response::format_content(char* out) const {
    const auto append = [&out](std::string_view piece) { out += piece.copy(out, piece.size()); };
    append(content_type_.text());
    if (framing_ <= Framing::length) [[likely]] {
        append("\r\nContent-Length: ");
        out = std::to_chars(out, out + 20, body_.size() + external_size_).ptr;
    } else if (framing_ == Framing::chunks) {
        append("\r\nTransfer-Encoding: chunked");
    }
    append("\r\n");
    return out;
}

}  // namespace web
