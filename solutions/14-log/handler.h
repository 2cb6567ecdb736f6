#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "body_sink.h"
#include "request.h"
#include "response.h"

namespace web {

/// The application, as a connection sees it. It belongs to one thread, so it may keep state.
class Handler {
public:
    virtual ~Handler() = default;

    /// The head of a request has come. Returns who takes its body and answers it; or nothing, then
    /// `response` is the answer and the body is skipped. The request's views are valid until then.
    virtual BodySinkPtr begin(const Request& request, Response& response) = 0;

    /// A second has begun: told once, before the requests that come in it.
    virtual void on_new_second(std::chrono::sys_seconds) {}

    /// Memory or descriptors run out, and somebody would be refused: frees what is kept for speed
    /// alone. False if there was nothing.
    virtual bool release_caches() { return false; }
};

/// Makes a handler for each thread that serves.
using HandlerFactory = std::function<std::unique_ptr<Handler>()>;

}  // namespace web
