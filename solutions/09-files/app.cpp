#include "app.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "files.h"
#include "http_parser.h"
#include "media_type.h"
#include "path.h"

namespace web {
namespace {

constexpr std::string_view page =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<meta charset=\"utf-8\">\n"
    "<title>Hot Path</title>\n"
    "<h1>Hot Path</h1>\n"
    "<p>The same page, faster every chapter.</p>\n"
    "</html>\n";

constexpr std::string_view index_page = "index.html";

bool is_get(const Request& request) {
    return request.method == Method::get || request.method == Method::head;
}

bool is_path_byte(char c) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return digit || letter || std::string_view("-._~!$&'()*+,;=:@/").contains(c);
}

/// The target of a directory (RFC 3986 §3.3). It begins with one slash: with two it would be a
/// host.
std::string to_target(std::string_view directory, std::string_view query) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string target = "/";
    for (const char c : directory) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_path_byte(c)) {
            target += c;
        } else {
            target.append({'%', digits[byte / 16], digits[byte % 16]});
        }
    }
    target += '/';
    return query.empty() ? target : target.append("?").append(query);
}

class App final : public Handler {
public:
    explicit App(const std::string& root) {
        if (!root.empty()) files_.emplace(root);
    }

    void respond(const Request& request, Response& response) override {
        const bool post = request.method == Method::post;
        if (is_get(request) && request.path == "/" && !files_) {
            respond_with_page(response);
        } else if (post && request.path == "/echo") {
            response.content_type("application/octet-stream");
            response.request_body(request.body);
        } else if (post && request.path == "/sink") {
            response.content_type("text/plain; charset=utf-8");
            response.body(std::to_string(request.body.size()));
        } else if (request.method == Method::options && request.path == "*") {
            response.content_type("text/plain; charset=utf-8");  // RFC 9110 §9.3.7: just an answer
        } else if (files_) {
            respond_with_file(request, response);
        } else {
            response.error(Status::not_found);
        }
    }

private:
    static void respond_with_page(Response& response) {
        response.content_type("text/html; charset=utf-8");
        response.body_reference(page);
    }
    void respond_with_file(const Request& request, Response& response);
    void respond_without_file(FileError error, const Request& request, std::string_view path,
                              Response& response);
    std::string_view file_name(std::string_view path);

    std::optional<Files> files_;
    std::array<char, max_request_line + index_page.size() + 1> name_;
};

void App::respond_with_file(const Request& request, Response& response) {
    const auto path = resolve(request.path, std::span(name_).first<max_request_line>());
    if (!path) return response.error(path.error());
    const std::string_view name = file_name(*path);
    auto file = files_->open(name.data());
    if (!file) {
        respond_without_file(file.error(), request, *path, response);
    } else if (is_get(request)) {
        response.content_type(media_type(name));
        response.file(std::move(*file));
    } else {
        response.method_not_allowed();
    }
}

// In name_, where a NUL fits behind it.
std::string_view App::file_name(std::string_view path) {
    std::size_t size = path.size();
    if (path.empty() || path.ends_with('/'))
        size += index_page.copy(&name_[size], index_page.size());
    name_[size] = '\0';
    return {name_.data(), size};
}

// The relative links on a directory's page lead astray unless its path ends with a slash.
void App::respond_without_file(FileError error, const Request& request, std::string_view path,
                               Response& response) {
    const bool lacks_slash = !path.empty() && !path.ends_with('/');
    if (error == FileError::exhausted) {
        response.error(Status::service_unavailable);
    } else if (error == FileError::directory && lacks_slash) {
        response.redirect(to_target(path, request.query));
    } else if (path.empty() && is_get(request)) {
        respond_with_page(response);
    } else {
        response.error(Status::not_found);
    }
}

}  // namespace

std::unique_ptr<Handler> make_app(const std::string& root) {
    return std::make_unique<App>(root);
}

}  // namespace web
