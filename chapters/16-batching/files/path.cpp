#include "path.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace web {
namespace {

std::unexpected<Status> reject(Status status) {
    return std::unexpected(status);
}

/// Removes one byte, decoded, from the front and returns it; nothing if it is a percent sign
/// without two digits.
std::optional<char> take_byte(std::string_view& text) {
    const char first = text.front();
    text.remove_prefix(1);
    if (first != '%') return first;
    unsigned char byte = 0;
    if (text.size() < 2) return std::nullopt;
    const auto [stopped, error] = std::from_chars(text.data(), text.data() + 2, byte, 16);
    if (error != std::errc{} || stopped != text.data() + 2) return std::nullopt;
    text.remove_prefix(2);
    return static_cast<char>(byte);
}

// No public file has control characters in its name, and a NUL would end the name for the kernel.
bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

/// Decodes the segment to `out`. The result is never longer than the segment.
std::expected<std::string_view, Status> decode(std::string_view segment, char* out) {
    const char* const begin = out;
    while (!segment.empty()) {
        const auto byte = take_byte(segment);
        if (!byte || is_control(*byte)) return reject(Status::bad_request);
        *out++ = *byte;
    }
    return std::string_view(begin, out);
}

// A proxy in front of us may not decode an encoded slash, and would then not see the `..` next to
// it.
bool hides_way_up(std::string_view segment) {
    while (true) {
        const std::size_t slash = std::min(segment.find('/'), segment.size());
        if (segment.substr(0, slash) == "..") return true;
        if (slash == segment.size()) return false;
        segment.remove_prefix(slash + 1);
    }
}

// Dotfiles are not public, but clients look for well-known URIs at the top of the path (RFC 8615
// §3). No file's name contains a slash.
bool is_hidden(std::string_view segment, bool is_first) {
    if (is_first && segment == ".well-known") return false;
    return segment.starts_with('.') || segment.contains('/');
}

/// The length of the name without its last segment. The name ends with a slash, before and after.
std::size_t without_last(std::string_view name) {
    name.remove_suffix(1);
    return name.rfind('/') + 1;
}

}  // namespace

std::expected<std::string_view, Status> resolve(std::string_view path, std::span<char> name) {
    if (!path.starts_with('/') || path.size() > name.size()) return reject(Status::not_found);
    std::size_t size = 0;
    bool hidden = false;
    while (!path.empty()) {
        path.remove_prefix(1);
        const std::size_t end = std::min(path.find('/'), path.size());
        const auto segment = decode(path.substr(0, end), name.data() + size);
        path.remove_prefix(end);
        if (!segment) return segment;
        if (*segment == "..") {
            if (size == 0) return reject(Status::bad_request);
            size = without_last({name.data(), size});
        } else if (hides_way_up(*segment)) {
            return reject(Status::bad_request);
        } else if (!segment->empty() && *segment != ".") {
            hidden |= is_hidden(*segment, size == 0);
            size += segment->size();
            if (!path.empty()) name[size++] = '/';
        }
    }
    if (hidden) return reject(Status::not_found);
    return std::string_view(name.data(), size);
}

}  // namespace web
