#pragma once

#include <strings.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace web {

// TODO(3.3): an enum is as large as an int unless you specify its underlying type.
enum class Method { unknown, get, head, post, put, del, options, patch };

enum class Version { unknown, http_1_0, http_1_1 };

/// Compares field names case-insensitively (RFC 9110 §5.1).
struct SameName {
    bool operator()(std::string_view a, std::string_view b) const {
        return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
    }
};

/// FNV-1a over the name, with the bit that distinguishes upper and lower case set in every byte.
struct NameHash {
    std::size_t operator()(std::string_view name) const {
        std::size_t hash = 14695981039346656037u;
        for (const char c : name)
            hash = (hash ^ static_cast<unsigned char>(c | 0x20)) * 1099511628211u;
        return hash;
    }
};

/// One request, as passed to the application. Its views point into the connection's buffer.
struct Request {
    // TODO(3.3): print sizeof(Request), then order the members to remove the padding. Assert the
    // new size with a static_assert.
    Method method = Method::unknown;
    std::string_view path;
    std::string_view query;
    Version version = Version::unknown;
    // TODO(3.2): this allocates for each header, but only four are looked up. A vector of pairs,
    // reserved once for 25 and searched from the front, takes fewer instructions; count them.
    /// A field may appear more than once (RFC 9110 §5.2).
    std::unordered_multimap<std::string_view, std::string_view, NameHash, SameName> headers;
    bool expects_continue = false;
    std::size_t content_length = 0;
    // TODO(3.3): let the connection own these bytes and store a view, which is smaller.
    std::string body;
};

}  // namespace web
