#include "client.h"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace web {
namespace {

constexpr std::string_view blank_line = "\r\n\r\n";
constexpr std::string_view length_field = "content-length:";

/// Returns the value of a Content-Length line, or nothing for any other line (RFC 9110 §8.6).
std::optional<std::size_t> length_in(std::string_view line) {
    const std::size_t name = length_field.size();
    if (line.size() < name || ::strncasecmp(line.data(), length_field.data(), name) != 0) {
        return std::nullopt;
    }
    line.remove_prefix(std::min(line.find_first_not_of(" \t", name), line.size()));
    std::size_t length = 0;
    std::from_chars(line.data(), line.data() + line.size(), length);
    return length;
}

std::size_t body_length(std::string_view head) {
    for (std::size_t line = head.find('\n'); line != head.npos; line = head.find('\n', line + 1)) {
        if (const auto length = length_in(head.substr(line + 1))) return *length;
    }
    return 0;
}

}  // namespace

std::optional<std::size_t> Client::count_ends(std::string_view bytes) {
    while (!bytes.empty()) {
        bytes = body_left_ > 0 ? skip_body(bytes) : skip_head(bytes);
    }
    if (held_.size() > head_limit) return std::nullopt;
    return std::exchange(ends_, 0);
}

/// Searches the client's bytes where they are; copies only a head that spans reads.
std::string_view Client::skip_head(std::string_view bytes) {
    const std::size_t before = held_.size();
    if (before > 0) held_ += bytes;
    const std::string_view text = before > 0 ? std::string_view(held_) : bytes;
    const std::size_t end = text.find(blank_line, before < 3 ? 0 : before - 3);
    if (end == text.npos) {
        if (before == 0) held_ = bytes;
        return {};
    }
    const std::size_t head = end + blank_line.size();
    body_left_ = body_length(text.substr(0, head));
    if (body_left_ == 0) ++ends_;
    held_.clear();
    return bytes.substr(head - before);
}

std::string_view Client::skip_body(std::string_view bytes) {
    const std::size_t taken = std::min(bytes.size(), body_left_);
    body_left_ -= taken;
    if (body_left_ == 0) ++ends_;
    return bytes.substr(taken);
}

}  // namespace web
