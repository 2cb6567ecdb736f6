#include "file_handler.h"

#include <array>
#include <chrono>
#include <expected>
#include <span>
#include <string_view>
#include <utility>

#include "coding.h"
#include "conditions.h"
#include "file_cache.h"
#include "http_parser.h"
#include "media_type.h"
#include "path.h"
#include "representation.h"

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

/// A file with one of the codings it is available in.
struct Form {
    OpenFile file;
    MediaType type;
    Coding coding = Coding::identity;
};

class FileHandler final : public Handler {
public:
    FileHandler(const std::string& root, const CacheBounds& bounds, std::unique_ptr<Handler> app)
        : files_(root, bounds), app_(std::move(app)) {}

    BodySinkPtr begin(const Request& request, Response& response) override {
        if (is_get(request)) return respond_with_file(request, response);
        auto sink = app_->begin(request, response);
        const bool nothing = !sink && response.status() == Status::not_found;
        return nothing ? respond_with_file(request, response) : std::move(sink);
    }

    void on_new_second(std::chrono::sys_seconds now) override {
        files_.on_new_second(now);
        app_->on_new_second(now);
    }

    // A file that is no longer requested must not stay open.
    bool needs_next_second() const override { return !files_.empty() || app_->needs_next_second(); }

    bool release_caches() override { return files_.release_caches() || app_->release_caches(); }

private:
    BodySinkPtr respond_with_file(const Request& request, Response& response) {
        const auto path = resolve(request.path, path_buffer());
        if (!path) {
            response.error(path.error());
            return nullptr;
        }
        Conditions asked(request.fields);
        auto form = open_form(file_name(*path), asked.codings());
        if (!form) return respond_without_file(form.error(), request, *path, response);
        if (is_get(request)) {
            respond_with_form(*form, asked, request, response);
        } else {
            response.error(Status::method_not_allowed, "Allow: GET, HEAD\r\n");
        }
        return nullptr;
    }

    // Best coding first, the plain form last. Each attempt costs a system call.
    std::expected<Form, FileError> open_form(std::string_view name, AcceptedCodings& accepted) {
        const MediaType type = media_type(name);
        if (is_compressible(type)) {
            for (const Coding coding : accepted.preferred()) {
                end_name(name.size(), coding_suffix(coding));
                auto file = files_.open(name_.data());
                if (file) return Form{std::move(*file), type, coding};
                if (file.error() == FileError::exhausted) return std::unexpected(file.error());
            }
            end_name(name.size(), "");
        }
        return files_.open(name_.data()).transform([&](OpenFile&& file) {
            return Form{std::move(file), type};
        });
    }

    static void respond_with_form(Form& form, const Conditions& asked, const Request& request,
                                  Response& response) {
        Representation shown(form.file.version, form.coding);
        shown.has_forms = is_compressible(form.type);
        switch (asked.evaluate(shown, request.method == Method::get)) {
            case Verdict::precondition_failed: return response.error(Status::precondition_failed);
            case Verdict::not_satisfiable:
                return response.error(
                    Status::range_not_satisfiable,
                    "Content-Range: bytes */" + std::to_string(shown.version.size) + "\r\n");
            case Verdict::not_modified: response.status(Status::not_modified); break;
            case Verdict::part: response.status(Status::partial_content); [[fallthrough]];
            case Verdict::whole:
                response.content_type(form.type);
                response.file(form.file.take(shown.part));
                break;
        }
        response.representation(shown);
    }

    BodySinkPtr respond_without_file(FileError error, const Request& request, std::string_view path,
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
            return app_->begin(request, response);
        }
        return nullptr;
    }

    std::span<char> path_buffer() { return std::span(name_).first<max_request_line>(); }

    /// For a directory, the name of its index page. Ends with NUL.
    std::string_view file_name(std::string_view path) {
        return end_name(path.size(), is_directory(path) ? index_page : "");
    }

    /// Appends `suffix` after the first `size` bytes of name_.
    std::string_view end_name(std::size_t size, std::string_view suffix) {
        size += suffix.copy(&name_[size], suffix.size());
        name_[size] = '\0';
        return {name_.data(), size};
    }

    FileCache files_;
    const std::unique_ptr<Handler> app_;
    std::array<char, max_request_line + index_page.size() + max_coding_suffix + 1> name_;
};

}  // namespace

std::unique_ptr<Handler> serve_files(const std::string& root, const CacheBounds& bounds,
                                     std::unique_ptr<Handler> app) {
    return std::make_unique<FileHandler>(root, bounds, std::move(app));
}

}  // namespace web
