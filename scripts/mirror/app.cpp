// `check` builds a checkpoint's server also with this application: it answers with all that it is
// told of a request, most of which the other one never looks at.
#include "app.h"

#include <string>

#include "told.h"

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
