#pragma once

#include <functional>
#include <memory>

#include "request.h"
#include "response.h"

namespace web {

/// The application's interface to a connection. Each handler belongs to one thread, so it may keep
/// state without locks.
class Handler {
public:
    virtual ~Handler() = default;

    /// Fills in the response to one request.
    virtual void respond(const Request& request, Response& response) = 0;

    // TODO(11.1): on_new_second(), which does nothing by default.
    // TODO(11.4): needs_next_second() and release_caches(), which return false by default.
};

/// Makes one handler for each thread that serves.
using HandlerFactory = std::function<std::unique_ptr<Handler>()>;

}  // namespace web
