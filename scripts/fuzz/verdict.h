#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <format>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http_parser.h"

namespace fuzz {

/// The result of parsing some bytes, as text: two verdicts are the same if their texts are.
using Verdict = std::string;

inline Verdict incomplete() {
    return "incomplete";
}

inline Verdict refused(web::Status status) {
    return std::format("{}", static_cast<int>(status));
}

inline std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
}

using Field = std::pair<std::string, std::string>;

template <typename Request>
concept KeepsHeaders = requires(const Request& request) { request.headers; };

inline std::string_view trimmed(std::string_view text) {
    const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
    text.remove_prefix(first);
    return text.substr(0, text.find_last_not_of(" \t") + 1);
}

std::vector<Field> fields_of(const KeepsHeaders auto& request) {
    std::vector<Field> fields;
    for (const auto& [name, value] : request.headers)
        fields.emplace_back(lower_case(name), value);
    return fields;
}

/// From a request that keeps its field lines as they were received.
std::vector<Field> fields_of(const auto& request) {
    std::vector<Field> fields;
    for (std::string_view rest = request.fields; !rest.empty();) {
        const std::size_t colon = rest.find(':');
        const std::size_t end = rest.find('\r');
        fields.emplace_back(lower_case(rest.substr(0, colon)),
                            trimmed(rest.substr(colon + 1, end - colon - 1)));
        rest.remove_prefix(end + 2);
    }
    return fields;
}

/// Reads every byte that the request refers to, so that the sanitizers see each of them.
inline Verdict complete(const web::Request& request, std::size_t head_size) {
    std::vector<Field> headers = fields_of(request);
    std::ranges::sort(headers);
    Verdict text = std::format("{} {} {} version {} head {} body {} expects {}",
                               static_cast<int>(request.method), request.path, request.query,
                               static_cast<int>(request.version), head_size, request.content_length,
                               request.expects_continue);
    for (const auto& [name, value] : headers)
        text += std::format(" | {}: {}", name, value);
    return text;
}

/// FNV-1a: identifies the bytes in the output, and seeds the choice of the pieces.
inline std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 14695981039346656037u;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return hash;
}

/// With HOTPATH_VERDICTS set, prints what has to be the same for every checkpoint. Requests with
/// chunks are left out: only from chapter 12 on are they read.
inline void report(std::string_view text, const Verdict& verdict) {
    static const bool wanted = std::getenv("HOTPATH_VERDICTS") != nullptr;
    if (!wanted || lower_case(text).contains("chunked")) return;
    const auto hashed = [](std::string_view bytes) -> unsigned long long { return hash_of(bytes); };
    std::printf("%016llx %016llx %.60s\n", hashed(text), hashed(verdict), verdict.c_str());
}

}  // namespace fuzz
