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

    /// Fills in the response to one request.
    virtual void respond(const Request& request, Response& response) = 0;

    // TODO(11): on_new_second() and release_caches(), which do nothing where nobody overrides them.
};

/// Makes a handler for each thread that serves.
using HandlerFactory = std::function<std::unique_ptr<Handler>()>;

}  // namespace web
