#pragma once

#include <strings.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
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
    bool keep_alive = false;

    /// Prepares for the next request and keeps the headers' memory.
    void reset() {
        Request fresh;
        headers.clear();
        fresh.headers = std::move(headers);
        *this = std::move(fresh);
    }
};

static_assert(sizeof(Request) == 3 * sizeof(std::string_view) + sizeof(std::vector<Header>) + 16,
              "the small members share the last word");

}  // namespace web
