#include "response.h"

namespace web {

void Response::body(std::string text) {
    body_ = text;
}

void Response::body_reference(std::string_view bytes) {
    body_ = std::string(bytes);
}

void Response::request_body(std::string_view bytes) {
    body_ = std::string(bytes);
}

void Response::error(Status status, std::string field) {
    status_ = status;
    field_ = field;
    content_type_ = "text/plain; charset=utf-8";
    body_ = std::string(status_text(status)) + "\n";
}

std::string Response::text(bool with_body) const {
    // TODO(1.1): status line, field_ (a complete line or nothing), Content-Type, Content-Length,
    // "Connection: close", an empty line, and the body unless the request was HEAD. The checks
    // compare every byte.
    return with_body ? body_ : "";
}

}  // namespace web
