#include "response.h"

#include <cassert>
#include <format>
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

std::string_view Response::format_head(std::span<char> buffer) const {
    const auto field = std::string_view(kept_).substr(0, field_size_);
    const auto capacity = static_cast<std::ptrdiff_t>(buffer.size());
    const auto written = std::format_to_n(buffer.data(), capacity,
                                          "HTTP/1.1 {}\r\n"
                                          "{}"
                                          "Content-Type: {}\r\n"
                                          "Content-Length: {}\r\n"
                                          "Connection: close\r\n"
                                          "\r\n",
                                          status_text(status_), field, content_type_, body_.size());
    assert(written.size <= capacity);
    return {buffer.data(), written.out};
}

}  // namespace web
