#pragma once

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
};

// TODO(9.2): the factory has to know --root, so make it a std::function.
/// Makes one handler for each thread that serves.
using HandlerFactory = std::unique_ptr<Handler> (*)();

}  // namespace web
