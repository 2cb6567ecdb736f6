#include "app.h"

#include <array>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "coding.h"
#include "conditions.h"
#include "files.h"
#include "http_parser.h"
#include "media_type.h"
#include "path.h"
#include "representation.h"

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

/// A file, in one of the forms in which its bytes may be had.
struct Form {
    OpenFile file;
    MediaType type;
    Coding coding;
};

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
    std::expected<Form, FileError> open_form(std::string_view name, AcceptedCodings& accepted);
    static void respond_with_form(Form& form, const Conditions& asked, const Request& request,
                                  Response& response);
    void respond_without_file(FileError error, const Request& request, std::string_view path,
                              Response& response);
    std::string_view file_name(std::string_view path);
    void end_name(std::string_view name, std::string_view suffix);

    std::optional<Files> files_;
    std::array<char, max_request_line + index_page.size() + max_coding_suffix + 1> name_;
};

void App::respond_with_file(const Request& request, Response& response) {
    const auto path = resolve(request.path, std::span(name_).first<max_request_line>());
    if (!path) return response.error(path.error());
    const std::string_view name = file_name(*path);
    Conditions asked(request.fields);
    auto form = open_form(name, asked.codings());
    if (!form) {
        respond_without_file(form.error(), request, *path, response);
    } else if (is_get(request)) {
        respond_with_form(*form, asked, request, response);
    } else {
        response.method_not_allowed();
    }
}

// Best first, the plain one last. Each that is looked for costs a system call.
std::expected<Form, FileError> App::open_form(std::string_view name, AcceptedCodings& accepted) {
    const MediaType type = media_type(name);
    if (is_compressible(type)) {
        for (const Coding coding : accepted.preferred()) {
            end_name(name, coding_suffix(coding));
            auto file = files_->open(name.data());
            if (file) return Form{std::move(*file), type, coding};
            if (file.error() == FileError::exhausted) return std::unexpected(file.error());
        }
        end_name(name, "");
    }
    return files_->open(name.data()).transform([&](OpenFile&& file) {
        return Form{std::move(file), type, Coding::identity};
    });
}

void App::respond_with_form(Form& form, const Conditions& asked, const Request& request,
                            Response& response) {
    Representation shown(form.file.version, form.coding);
    shown.has_forms = is_compressible(form.type);
    FileRange range = form.file.take();
    switch (asked.judge(shown, request.method == Method::get)) {
        case Verdict::precondition_failed: return response.error(Status::precondition_failed);
        case Verdict::not_modified: return response.not_modified(shown);
        case Verdict::not_satisfiable: return response.range_not_satisfiable(shown.version.size);
        case Verdict::part:
            range.offset = static_cast<off_t>(shown.part->first);
            range.size = static_cast<std::size_t>(shown.part->size);
            response.status(Status::partial_content);
            break;
        case Verdict::whole: break;
    }
    response.content_type(form.type);
    response.representation(shown);
    response.file(std::move(range));
}

// In name_, where a suffix and a NUL fit behind it.
std::string_view App::file_name(std::string_view path) {
    std::size_t size = path.size();
    if (path.empty() || path.ends_with('/'))
        size += index_page.copy(&name_[size], index_page.size());
    const std::string_view name{name_.data(), size};
    end_name(name, "");
    return name;
}

void App::end_name(std::string_view name, std::string_view suffix) {
    name_[name.size() + suffix.copy(&name_[name.size()], suffix.size())] = '\0';
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
