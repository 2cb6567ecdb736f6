#include "response.h"

namespace web {

void Response::body(std::string text) {
    body_ = text;
}

void Response::body_reference(std::string_view bytes) {
    // TODO(2.2): these bytes outlive the answer. Store a view.
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
    std::string answer;
    answer += "HTTP/1.1 " + std::string(status_text(status_)) + "\r\n";
    answer += field_;
    answer += "Content-Type: " + content_type_ + "\r\n";
    answer += "Content-Length: " + std::to_string(body_.size()) + "\r\n";
    answer += "Connection: close\r\n";
    answer += "\r\n";
    if (with_body) answer += body_;
    return answer;
}

}  // namespace web
