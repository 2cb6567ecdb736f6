#include "app.h"

#include <string>
#include <string_view>

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

/// Sends the body back as it arrives.
class Echo final : public BodySink {
public:
    void start(const Request& request, Response& response) override {
        response.content_type("application/octet-stream");
        if (request.chunked) {
            response.stream();
        } else {
            response.stream(request.content_length);
        }
    }

    std::string_view piece(std::string_view bytes) override { return bytes; }

    void end(std::size_t, Response&) override {}
};

/// Answers with the length of the body.
class Count final : public BodySink {
public:
    std::string_view piece(std::string_view) override { return {}; }

    void end(std::size_t size, Response& response) override {
        response.content_type("text/plain; charset=utf-8");
        response.body(std::to_string(size));
    }
};

class App final : public Handler {
public:
    BodySinkPtr begin(const Request& request, Response& response) override {
        const bool get = request.method == Method::get || request.method == Method::head;
        const bool post = request.method == Method::post;
        if (get && request.path == "/") {
            response.content_type("text/html; charset=utf-8");
            response.body_reference(page);
        } else if (post && request.path == "/echo") {
            return BodySinkPtr(&echo_);
        } else if (post && request.path == "/sink") {
            return BodySinkPtr(&count_);
        } else if (request.method == Method::options && request.path == "*") {
            response.content_type("text/plain; charset=utf-8");  // RFC 9110 §9.3.7: just an answer
        } else if (request.path == "/") {
            response.error(Status::method_not_allowed, "Allow: GET, HEAD\r\n");
        } else if (request.path == "/echo" || request.path == "/sink") {
            response.error(Status::method_not_allowed, "Allow: POST\r\n");
        } else {
            response.error(Status::not_found);
        }
        return nullptr;
    }

private:
    // The sinks keep no state about a body, so one of each serves all clients.
    Echo echo_;
    Count count_;
};

}  // namespace

std::unique_ptr<Handler> make_app() {
    return std::make_unique<App>();
}

}  // namespace web
