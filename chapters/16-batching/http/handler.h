#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "body_sink.h"
#include "request.h"
#include "response.h"

namespace web {

/// The application's interface to a connection. Each handler belongs to one thread, so it may keep
/// state without locks.
class Handler {
public:
    virtual ~Handler() = default;

    /// The head of a request has arrived. Returns the sink that takes the body and answers; or
    /// null, in which case `response` is the answer and the body is skipped. After that the
    /// request's views are no longer valid.
    virtual BodySinkPtr begin(const Request& request, Response& response) = 0;

    /// A new second has begun. Called once, before the requests that arrive in it.
    virtual void on_new_second(std::chrono::sys_seconds) {}

    /// Returns whether on_new_second() has to be called in the next second even if no request
    /// arrives.
    virtual bool needs_next_second() const { return false; }

    /// Called when memory or descriptors run out and a client would have to be refused. Frees what
    /// is kept only for speed. Returns false if there was nothing to free.
    virtual bool release_caches() { return false; }
};

/// Makes one handler for each thread that serves.
using HandlerFactory = std::function<std::unique_ptr<Handler>()>;

}  // namespace web
