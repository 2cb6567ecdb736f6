#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "request.h"
#include "response.h"

namespace web {

/// Receives the body of a request piece by piece and answers it, either at the end or while the
/// body arrives. The functions are called in the order of their declarations.
class BodySink {
public:
    /// The body has begun to arrive, or has ended without a byte. To begin the answer now, fill in
    /// everything but its body: see Response::stream(). The views in `request` are no longer valid.
    virtual void start(const Request& /*request*/, Response& /*response*/) {}

    /// Takes the next bytes of the body and returns the next bytes of an answer that has begun.
    /// Both are valid until the next call of any function here.
    virtual std::string_view piece(std::string_view bytes) = 0;

    /// The body has ended after `size` bytes. Fills in the answer or, if that has begun, only its
    /// last bytes, as the body.
    virtual void end(std::size_t size, Response& response) = 0;

    /// Always the last call, whether the body has ended or its client has disconnected. A sink
    /// created for one body deletes itself here.
    virtual void release() {}

protected:
    ~BodySink() = default;
};

struct BodySinkDeleter {
    void operator()(BodySink* sink) const { sink->release(); }
};

using BodySinkPtr = std::unique_ptr<BodySink, BodySinkDeleter>;

}  // namespace web
