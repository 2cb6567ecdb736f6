// `check` builds a checkpoint's server also with this application: it answers with all that it is
// told of a request, most of which the other one never looks at.
#include "app.h"

#include <algorithm>
#include <cctype>
#include <format>
#include <string>
#include <string_view>
#include <vector>

#if __has_include("body_sink.h")
#include "body_sink.h"
#endif

namespace web {
namespace {

std::string line(std::string_view name, std::string_view value) {
    std::string text(name);
    for (char& c : text)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text.append(": ").append(value).append("\n");
}

/// Sorted: a table of headers does not keep their order.
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

/// All but the body, which belongs between the two.
struct Told {
    explicit Told(const Request& request)
        : before(std::format("{} path {} query {} version {} length {} body ",
                             static_cast<int>(request.method), request.path, request.query,
                             static_cast<int>(request.version), request.content_length)) {
        for (const std::string& line : lines_of(request))
            after += line;
    }

    std::string before;
    std::string after = "\n";
};

constexpr std::string_view asks_for_size = "/sizeof(Request)";

void tell_size(Response& response) {
    response.content_type("text/plain; charset=utf-8");
    response.body(std::to_string(sizeof(Request)));
}

template <typename H>
class Mirror final : public H {
public:
    void respond(const Request& request, Response& response) override {
        if (request.path == asks_for_size) return tell_size(response);
        const Told told(request);
        response.content_type("text/plain; charset=utf-8");
        response.body(told.before + std::string(body_of(request)) + told.after);
    }

private:
    static std::string_view body_of(const auto& request) { return request.body; }
};

#if __has_include("body_sink.h")

/// From chapter 12 on.
template <typename H>
    requires requires(H& handler, const Request& request, Response& response) {
        handler.begin(request, response);
    }
class Mirror<H> final : public H {
    /// A body comes in pieces. At /stream the answer does, too.
    class Teller final : public BodySink {
    public:
        explicit Teller(const Request& request)
            : told_(request), streams_(request.path == "/stream") {}

        void start(const Request&, Response& response) override {
            response.content_type("text/plain; charset=utf-8");
            if (streams_) stream(response);
        }

        std::string_view piece(std::string_view bytes) override {
            if (streams_) return bytes;
            body_ += bytes;
            return {};
        }

        void end(std::size_t, Response& response) override {
            response.content_type("text/plain; charset=utf-8");
            response.body(told_.before + body_ + told_.after);
        }

        void release() override { delete this; }

    private:
        static void stream(auto& response) { response.stream(); }

        Told told_;
        bool streams_;
        std::string body_;
    };

public:
    BodySinkPtr begin(const Request& request, Response& response) override {
        if (request.path != asks_for_size) return BodySinkPtr(new Teller(request));
        tell_size(response);
        return nullptr;
    }
};

#endif

}  // namespace

std::unique_ptr<Handler> make_app() {
    return std::make_unique<Mirror<Handler>>();
}

}  // namespace web
