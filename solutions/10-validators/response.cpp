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
    body_ = kept_;
}

void Response::error(Status status) {
    status_ = status;
    content_type_ = "text/html; charset=utf-8";
    body(page_of(status));
}

// RFC 9110 §15.5.6: the answer says what can be done.
void Response::method_not_allowed() {
    error(Status::method_not_allowed);
    more_fields_ = "Allow: GET, HEAD\r\n";
}

void Response::redirect(std::string_view location) {
    error(Status::moved_permanently);
    more_field("Location: ", location);
}

// RFC 9110 §15.4.5: the fields that a 200 would have had and that tell which version it is.
void Response::not_modified(const Representation& of) {
    status_ = Status::not_modified;
    representation_ = of;
}

// RFC 9110 §14.4
void Response::range_not_satisfiable(std::uint64_t size) {
    error(Status::range_not_satisfiable);
    more_field("Content-Range: bytes */", std::to_string(size));
}

void Response::more_field(std::string_view name, std::string_view value) {
    kept_field_.append(name).append(value).append("\r\n");
    more_fields_ = kept_field_;
}

// std::format reads its format string at run time; here every piece is a copy.
char* Response::format_head(char* out, const Date& date, std::string_view connection) const {
    const auto append = [&out](std::string_view piece) { out += piece.copy(out, piece.size()); };
    if (status_ == Status::ok) {
        append(status_line(Status::ok));  // a length that the compiler knows: two moves, no call
    } else {
        append(status_line(status_));
    }
    append(date.field());
    append("X-Content-Type-Options: nosniff\r\n");
    if (status_ != Status::not_modified) {
        append("Content-Type: ");
        append(content_type_.text());
        append("\r\nContent-Length: ");
        out = std::to_chars(out, out + 20, body_.size() + file_.size).ptr;
        append("\r\n");
    }
    if (representation_) out = representation_->format(out, date);
    if (!more_fields_.empty()) append(more_fields_);
    if (!connection.empty()) append(connection);
    append("\r\n");
    return out;
}

}  // namespace web
