// The same for bodies that arrive in pieces, from chapter 12 on. The answer at /stream is produced
// in pieces too, and the one at /capitals comes from the sink's own memory. /living returns the
// number of sinks that have not been released.
#include "app.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

#include "reported.h"

namespace web {
namespace {

std::atomic<std::size_t> living = 0;

class ReportingSink final : public BodySink {
public:
    explicit ReportingSink(const Request& request)
        : reported_(request),
          capitals_(request.path == "/capitals"),
          streams_(capitals_ || request.path == "/stream") {
        ++living;
    }

    void start(const Request&, Response& response) override {
        response.content_type("text/plain; charset=utf-8");
        if (streams_) response.stream();
    }

    std::string_view piece(std::string_view bytes) override {
        if (streams_ && !capitals_) return bytes;
        if (!capitals_) {
            body_ += bytes;
            return {};
        }
        body_ = bytes;
        for (char& c : body_)
            c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        return body_;
    }

    void end(std::size_t, Response& response) override {
        mirror::answer(response, reported_.before + (capitals_ ? "" : body_) + reported_.after);
    }

    // The memory is kept and overwritten, so a server that still sends the body after release()
    // sends these characters.
    void release() override {
        std::ranges::fill(body_, '?');
        --living;
    }

private:
    const mirror::ReportedFields reported_;
    const bool capitals_;
    const bool streams_;
    std::string body_;
};

class Mirror final : public Handler {
public:
    BodySinkPtr begin(const Request& request, Response& response) override {
        const bool size = request.path == mirror::asks_for_size;
        if (!size && request.path != "/living") return BodySinkPtr(new ReportingSink(request));
        mirror::answer(response, std::to_string(size ? sizeof(Request) : living.load()));
        return nullptr;
    }
};

}  // namespace

std::unique_ptr<Handler> make_app() {
    return std::make_unique<Mirror>();
}

}  // namespace web
