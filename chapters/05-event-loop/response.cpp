#include "response.h"

#include <cassert>
#include <format>
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

std::string_view Response::format_head(std::span<char> buffer) const {
    const auto capacity = static_cast<std::ptrdiff_t>(buffer.size());
    const auto written = std::format_to_n(buffer.data(), capacity,
                                          "HTTP/1.1 {}\r\n"
                                          "Content-Type: {}\r\n"
                                          "Content-Length: {}\r\n"
                                          // TODO(5.3): send this only if the connection closes.
                                          "Connection: close\r\n"
                                          "\r\n",
                                          status_text(status_), content_type_, body_.size());
    assert(written.size <= capacity);
    return {buffer.data(), written.out};
}

}  // namespace web
