#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace web {

enum class Method : std::uint8_t { unknown, get, head, post, put, del, options, patch };

enum class Version : std::uint8_t { unknown, http_1_0, http_1_1 };

/// One request, as the application sees it. Its views are of the connection's buffers.
struct Request {
    std::string_view path;
    std::string_view query;
    // TODO(12), step 1: a body may be `chunked`.
    // TODO(12), step 2: `body` goes, for it is not here yet when somebody is asked. Then 4 becomes
    // 3 in the static_assert below.
    std::string_view body;
    /// The field lines as they came, each with its CRLF. Whoever needs one looks for it: storing
    /// them all would cost every request something.
    std::string_view fields;
    std::size_t content_length = 0;
    Method method = Method::unknown;
    Version version = Version::unknown;
    bool expects_continue = false;
    bool keep_alive = false;

    /// Ready for the next request.
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
