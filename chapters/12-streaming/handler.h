#pragma once

#include <functional>
#include <memory>

#include "request.h"
#include "response.h"

namespace web {

/// The application, as a connection sees it. It belongs to one thread, so it may keep state.
class Handler {
public:
    virtual ~Handler() = default;

    // TODO(12): begin(): the response, and nobody; or a BodySinkPtr (body_sink.h), who answers
    // later.
    /// Fills in the response to one request.
    virtual void respond(const Request& request, Response& response) = 0;
};

/// Makes a handler for each thread that serves.
using HandlerFactory = std::function<std::unique_ptr<Handler>()>;

}  // namespace web
