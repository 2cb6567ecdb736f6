// `check` builds a checkpoint's server with this application as well. It answers with everything
// that it receives of a request, most of which the usual application never reads.
#include "app.h"

#include <string>

#include "reported.h"

namespace web {
namespace {

class Mirror final : public Handler {
public:
    void respond(const Request& request, Response& response) override {
        if (request.path == mirror::asks_for_size) {
            mirror::answer(response, std::to_string(sizeof(Request)));
        } else {
            const mirror::ReportedFields reported(request);
            mirror::answer(response, reported.before + std::string(request.body) + reported.after);
        }
    }
};

}  // namespace

std::unique_ptr<Handler> make_app() {
    return std::make_unique<Mirror>();
}

}  // namespace web
