#include "file_handler.h"

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "files.h"
#include "http_parser.h"
#include "media_type.h"
#include "path.h"

namespace web {
namespace {

constexpr std::string_view index_page = "index.html";

bool is_get(const Request& request) {
    return request.method == Method::get || request.method == Method::head;
}

bool is_directory(std::string_view path) {
    return path.empty() || path.ends_with('/');
}

bool is_path_byte(char c) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return digit || letter || std::string_view("-._~!$&'()*+,;=:@/").contains(c);
}

/// The URI of a directory (RFC 3986 §3.3). It must begin with exactly one slash, because after two
/// slashes the first segment would be a host.
std::string location(std::string_view directory, std::string_view query) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string field = "Location: /";
    for (const char c : directory) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_path_byte(c)) {
            field += c;
        } else {
            field.append({'%', digits[byte / 16], digits[byte % 16]});
        }
    }
    field += '/';
    if (!query.empty()) field.append("?").append(query);
    return field.append("\r\n");
}

class FileHandler final : public Handler {
public:
    FileHandler(const std::string& root, std::unique_ptr<Handler> app)
        : files_(root), app_(std::move(app)) {}

    void respond(const Request& request, Response& response) override {
        if (is_get(request)) return respond_with_file(request, response);
        app_->respond(request, response);
        if (response.status() == Status::not_found) respond_with_file(request, response);
    }

private:
    void respond_with_file(const Request& request, Response& response) {
        const auto path = resolve(request.path, path_buffer());
        if (!path) return response.error(path.error());
        const char* const name = file_name(*path);
        auto file = files_.open(name);
        if (!file) {
            respond_without_file(file.error(), request, *path, response);
        } else if (is_get(request)) {
            response.content_type(media_type(name));
            response.file(std::move(*file));
        } else {
            response.error(Status::method_not_allowed, "Allow: GET, HEAD\r\n");
        }
    }

    void respond_without_file(FileError error, const Request& request, std::string_view path,
                              Response& response) {
        if (error == FileError::exhausted) {
            response.error(Status::service_unavailable);
        } else if (error == FileError::directory && !is_directory(path)) {
            // Without the slash, the relative links in its page would resolve to different paths.
            // After a 301, a client may repeat a POST as a GET (RFC 9110 §15.4.2); after a 308 it
            // may not.
            response.error(is_get(request) ? Status::moved_permanently : Status::permanent_redirect,
                           location(path, request.query));
        } else {
            app_->respond(request, response);
        }
    }

    std::span<char> path_buffer() { return std::span(name_).first<max_request_line>(); }

    /// For a directory, the name of its index page. Ends with NUL.
    const char* file_name(std::string_view path) {
        char* end = name_.data() + path.size();
        if (is_directory(path)) end += index_page.copy(end, index_page.size());
        *end = '\0';
        return name_.data();
    }

    Files files_;
    const std::unique_ptr<Handler> app_;
    std::array<char, max_request_line + index_page.size() + 1> name_;
};

}  // namespace

std::unique_ptr<Handler> serve_files(const std::string& root, std::unique_ptr<Handler> app) {
    return std::make_unique<FileHandler>(root, std::move(app));
}

}  // namespace web
