// Formats everything of a request that an application could look at.
#pragma once

#include <algorithm>
#include <cctype>
#include <format>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app.h"

namespace mirror {

using web::Request;
using web::Response;

constexpr std::string_view asks_for_size = "/sizeof(Request)";

inline std::string line(std::string_view name, std::string_view value) {
    std::string text(name);
    for (char& c : text)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text.append(": ").append(value).append("\n");
}

/// Sorted, because a table of headers does not keep their order.
std::vector<std::string> lines_of(const auto& request) {
    std::vector<std::string> lines;
    if constexpr (requires { request.headers; }) {
        for (const auto& [name, value] : request.headers)
            lines.push_back(line(name, value));
    } else {
        std::string_view rest = request.fields;
        for (std::size_t end; (end = rest.find("\r\n")) != rest.npos; rest.remove_prefix(end + 2)) {
            const std::size_t colon = std::min(rest.find(':'), end);
            std::string_view value = rest.substr(0, end).substr(std::min(colon + 1, end));
            value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
            value = value.substr(0, value.find_last_not_of(" \t") + 1);
            lines.push_back(line(rest.substr(0, colon), value));
        }
        if (!rest.empty()) lines.emplace_back("a line without its end");
    }
    std::ranges::sort(lines);
    return lines;
}

/// Everything but the body, which belongs between the two parts.
struct ReportedFields {
    explicit ReportedFields(const Request& request)
        : before(std::format("{} path {} query {} version {} length {} body ",
                             static_cast<int>(request.method), request.path, request.query,
                             static_cast<int>(request.version), request.content_length)) {
        for (const std::string& text : lines_of(request))
            after += text;
    }

    std::string before;
    std::string after = "\n";
};

/// Makes a plain-text response.
inline void answer(Response& response, std::string text) {
    response.content_type("text/plain; charset=utf-8");
    response.body(std::move(text));
}

}  // namespace mirror
