#pragma once

#include <strings.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace web {

// TODO(3): an enum is as large as an int unless told otherwise.
enum class Method { unknown, get, head, post, put, del, options, patch };

enum class Version { unknown, http_1_0, http_1_1 };

/// Field names are compared without regard to case (RFC 9110 §5.1).
struct SameName {
    bool operator()(std::string_view a, std::string_view b) const {
        return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
    }
};

/// FNV-1a over the name with the bit that tells a letter's case set.
struct NameHash {
    std::size_t operator()(std::string_view name) const {
        std::size_t hash = 14695981039346656037u;
        for (const char c : name)
            hash = (hash ^ static_cast<unsigned char>(c | 0x20)) * 1099511628211u;
        return hash;
    }
};

/// One request, as the application sees it. Its views are of the connection's buffer.
struct Request {
    // TODO(3): print sizeof(Request), then order the members so that the padding goes. Hold
    // the new size with a static_assert.
    Method method = Method::unknown;
    std::string_view path;
    std::string_view query;
    Version version = Version::unknown;
    // TODO(3): an allocation for each header, to look up four of them. A vector of pairs, reserved
    // once for 25 and walked from the front, takes fewer instructions; count them.
    /// A field may stand more than once (RFC 9110 §5.2).
    std::unordered_multimap<std::string_view, std::string_view, NameHash, SameName> headers;
    bool expects_continue = false;
    std::size_t content_length = 0;
    // TODO(3): the connection can own these bytes; a view is smaller.
    std::string body;
};

}  // namespace web
