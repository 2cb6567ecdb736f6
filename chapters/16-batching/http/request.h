#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace web {

enum class Method : std::uint8_t { unknown, get, head, post, put, del, options, patch };

enum class Version : std::uint8_t { unknown, http_1_0, http_1_1 };

/// Of the target URI: https over TLS, otherwise http (RFC 9112 §3.3).
enum class Scheme : std::uint8_t { http, https };

/// One request's head, as passed to the application. Its views point into the connection's buffers.
struct Request {
    std::string_view path;
    std::string_view query;
    /// The field lines as received, each with its CRLF. Code that needs a field searches for it,
    /// because storing all of them would slow every request.
    std::string_view fields;
    std::size_t content_length = 0;  // unknown for a chunked body
    Method method = Method::unknown;
    Version version = Version::unknown;
    Scheme scheme = Scheme::http;  // the connection's: set once, before the first request
    bool expects_continue = false;
    bool keep_alive = false;
    bool chunked = false;

    bool has_body() const { return chunked || content_length > 0; }

    /// Prepares for the next request.
    void reset() {
        method = Method::unknown;
        query = {};
        content_length = 0;
        expects_continue = keep_alive = chunked = false;
    }
};

static_assert(sizeof(Request) == 3 * sizeof(std::string_view) + 16,
              "the small members share the last word");

}  // namespace web
