#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

namespace web {

enum class Method { unknown, get, head, post, put, del, options, patch };

enum class Version { unknown, http_1_0, http_1_1 };

/// One request, as passed to the application. Owns its bytes.
struct Request {
    Method method = Method::unknown;
    // TODO(2.4): once the head stays in one buffer, path, query and headers can be views of it.
    // Then the names cannot be converted to lower case: the map needs a hash and an equality that
    // ignore case. The buffer may move when it grows: what happens to views of it?
    std::string path;
    std::string query;
    Version version = Version::unknown;
    /// Names in lower case. A field may appear more than once (RFC 9110 §5.2).
    std::unordered_multimap<std::string, std::string> headers;
    bool expects_continue = false;
    std::size_t content_length = 0;
    std::string body;
};

}  // namespace web
