#pragma once  // TODO(lab-branches): let no branch depend on what cannot be predicted

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace web {

// Writes the index of each client whose deadline is at or before `now_ms` to `expired`, in
// ascending order, and returns how many there are. Times are in milliseconds since one common
// start. `expired` must be at least as long as `deadlines_ms`, and its contents after the returned
// number are unspecified.
inline std::size_t collect_expired(std::span<const std::uint32_t> deadlines_ms,
                                   std::uint32_t now_ms, std::span<std::uint32_t> expired) {
    std::size_t count = 0;
    for (std::uint32_t client = 0; client < deadlines_ms.size(); ++client) {
        // TODO(lab-branches): write without a branch
        if (deadlines_ms[client] <= now_ms) {
            expired[count] = client;
            ++count;
        }
    }
    return count;
}

// TODO(lab-branches): look each byte up in a table instead of comparing it
// RFC 9110 §5.6.2: whether the byte may be in a token, such as a method or a field name.
constexpr bool is_token_byte(char byte) {
    if (byte >= 'a' && byte <= 'z') return true;
    if (byte >= 'A' && byte <= 'Z') return true;
    if (byte >= '0' && byte <= '9') return true;
    return std::string_view("!#$%&'*+-.^_`|~").find(byte) != std::string_view::npos;
}

// The number of bytes at the beginning of the text that may be in a token.
inline std::size_t token_length(std::string_view text) {
    std::size_t length = 0;
    while (length < text.size() && is_token_byte(text[length])) {
        ++length;
    }
    return length;
}

enum class Method : unsigned char {
    unknown,
    get,
    head,
    post,
    put,
    del,
    connect,
    options,
    trace,
    patch
};

// The shortest request line, "GET / HTTP/1.1", has 14 bytes. The longest method and the space after
// it have eight.
inline constexpr std::size_t min_line = 8;

// The method at the beginning of a request line, up to its first space; unknown if it is none of
// the nine. Methods are case-sensitive (RFC 9110 §9.1). The line must have at least `min_line`
// bytes.
inline Method find_method(std::string_view line) {
    // TODO(lab-branches): compare once, with the only method that it can be
    if (line.starts_with("GET ")) return Method::get;
    if (line.starts_with("HEAD ")) return Method::head;
    if (line.starts_with("POST ")) return Method::post;
    if (line.starts_with("PUT ")) return Method::put;
    if (line.starts_with("DELETE ")) return Method::del;
    if (line.starts_with("CONNECT ")) return Method::connect;
    if (line.starts_with("OPTIONS ")) return Method::options;
    if (line.starts_with("TRACE ")) return Method::trace;
    if (line.starts_with("PATCH ")) return Method::patch;
    return Method::unknown;
}

}  // namespace web
