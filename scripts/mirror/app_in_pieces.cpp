// The same where a body comes in pieces, from chapter 12 on. At /stream the answer does, too.
#include "app.h"

#include <string>
#include <string_view>

#include "told.h"

namespace web {
namespace {

class Teller final : public BodySink {
public:
    explicit Teller(const Request& request) : told_(request), streams_(request.path == "/stream") {}

    void start(const Request&, Response& response) override {
        response.content_type("text/plain; charset=utf-8");
        if (streams_) response.stream();
    }

    std::string_view piece(std::string_view bytes) override {
        if (streams_) return bytes;
        body_ += bytes;
        return {};
    }

    void end(std::size_t, Response& response) override {
        mirror::answer(response, told_.before + body_ + told_.after);
    }

    void release() override { delete this; }

private:
    const mirror::Told told_;
    const bool streams_;
    std::string body_;
};

class Mirror final : public Handler {
public:
    BodySinkPtr begin(const Request& request, Response& response) override {
        if (request.path != mirror::asks_for_size) return BodySinkPtr(new Teller(request));
        mirror::answer(response, std::to_string(sizeof(Request)));
        return nullptr;
    }
};

}  // namespace

std::unique_ptr<Handler> make_app() {
    return std::make_unique<Mirror>();
}

}  // namespace web
