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

class App final : public Handler {
public:
    void respond(const Request& request, Response& response) override {
        const bool get = request.method == Method::get || request.method == Method::head;
        const bool post = request.method == Method::post;
        if (get && request.path == "/") {
            response.content_type("text/html; charset=utf-8");
            response.body_reference(page);
        } else if (post && request.path == "/echo") {
            response.content_type("application/octet-stream");
            response.request_body(request.body);
        } else if (post && request.path == "/sink") {
            response.content_type("text/plain; charset=utf-8");
            response.body(std::to_string(request.body.size()));
        } else if (request.method == Method::options && request.path == "*") {
            response.content_type("text/plain; charset=utf-8");  // RFC 9110 §9.3.7: just an answer
        } else if (request.path == "/") {
            response.error(Status::method_not_allowed, "Allow: GET, HEAD\r\n");
        } else if (request.path == "/echo" || request.path == "/sink") {
            response.error(Status::method_not_allowed, "Allow: POST\r\n");
        } else {
            response.error(Status::not_found);
        }
    }
};

}  // namespace

std::unique_ptr<Handler> make_app() {
    return std::make_unique<App>();
}

}  // namespace web
