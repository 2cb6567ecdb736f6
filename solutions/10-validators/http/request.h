#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace web {

enum class Method : std::uint8_t { unknown, get, head, post, put, del, options, patch };

enum class Version : std::uint8_t { unknown, http_1_0, http_1_1 };

/// One request, as passed to the application. Its views point into the connection's buffers.
struct Request {
    std::string_view path;
    std::string_view query;
    std::string_view body;
    /// The field lines as received, each with its CRLF. Code that needs a field searches for it,
    /// because storing all of them would slow every request.
    std::string_view fields;
    std::size_t content_length = 0;
    Method method = Method::unknown;
    Version version = Version::unknown;
    bool expects_continue = false;
    bool keep_alive = false;

    /// Prepares for the next request.
    void reset() {
        method = Method::unknown;
        body = query = {};
        content_length = 0;
        expects_continue = keep_alive = false;
    }
};

static_assert(sizeof(Request) == 4 * sizeof(std::string_view) + 16,
              "the small members share the last word");

}  // namespace web
