#pragma once

#include <strings.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace web {

enum class Method : std::uint8_t { unknown, get, head, post, put, del, options, patch };

enum class Version : std::uint8_t { unknown, http_1_0, http_1_1 };

/// Field names are compared without regard to case (RFC 9110 §5.1).
struct SameName {
    bool operator()(std::string_view a, std::string_view b) const {
        return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
    }
};

struct Header {
    std::string_view name;
    std::string_view value;
};

/// One request, as the application sees it. Its views are of the connection's buffers.
struct Request {
    /// Browsers send about fifteen headers; this many cost no second allocation.
    static constexpr std::size_t usual_headers = 25;

    std::string_view path;
    std::string_view query;
    std::string_view body;
    /// In the order they came. A field may stand more than once (RFC 9110 §5.2).
    std::vector<Header> headers;
    std::size_t content_length = 0;
    Method method = Method::unknown;
    Version version = Version::unknown;
    bool expects_continue = false;
    // TODO(5.3): bool keep_alive: 1.1 unless told to close, 1.0 only if asked to stay (RFC 9112
    // §9.3). And a reset() that keeps the headers' memory.
};

static_assert(sizeof(Request) == 3 * sizeof(std::string_view) + sizeof(std::vector<Header>) + 16,
              "the three small members share the last word");

}  // namespace web
