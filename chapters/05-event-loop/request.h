#pragma once

#include <strings.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace web {

enum class Method : std::uint8_t { unknown, get, head, post, put, del, options, patch };

enum class Version : std::uint8_t { unknown, http_1_0, http_1_1 };

/// Compares field names case-insensitively (RFC 9110 §5.1).
struct SameName {
    bool operator()(std::string_view a, std::string_view b) const {
        return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
    }
};

struct Header {
    std::string_view name;
    std::string_view value;
};

/// One request, as passed to the application. Its views point into the connection's buffers.
struct Request {
    /// Browsers send about fifteen headers. Up to 25 need no second allocation.
    static constexpr std::size_t usual_headers = 25;

    std::string_view path;
    std::string_view query;
    std::string_view body;
    /// In order of arrival. A field may appear more than once (RFC 9110 §5.2).
    std::vector<Header> headers;
    std::size_t content_length = 0;
    Method method = Method::unknown;
    Version version = Version::unknown;
    bool expects_continue = false;
    // TODO(5.3): add bool keep_alive: true in 1.1 unless asked to close, in 1.0 only if asked to
    // keep the connection open (RFC 9112 §9.3). Add a reset() that keeps the headers' memory.
};

static_assert(sizeof(Request) == 3 * sizeof(std::string_view) + sizeof(std::vector<Header>) + 16,
              "the three small members share the last word");

}  // namespace web
