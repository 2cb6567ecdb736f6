#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "request.h"
#include "response.h"

namespace web {

/// Takes the body of a request, piece by piece, and answers it: when it has ended, or while it
/// comes. The functions are called in this order.
class BodySink {
public:
    /// The body has begun to come, or has ended without a byte. An answer that begins now is filled
    /// in but for its body: see Response::stream(). The views of `request` are not valid any more.
    virtual void start(const Request& /*request*/, Response& /*response*/) {}

    /// The next bytes of the body. Returned are the next bytes of an answer that has begun. Both
    /// are valid until the next call of any function here.
    virtual std::string_view piece(std::string_view bytes) = 0;

    /// That was all, so many bytes. Fills in the answer, or, if that has begun, only its last
    /// bytes, as body.
    virtual void end(std::size_t size, Response& response) = 0;

    /// Always the last call, whether the body has ended or its client has gone. Whoever was made
    /// for one body deletes itself.
    virtual void release() {}

protected:
    ~BodySink() = default;
};

struct ReleaseSink {
    void operator()(BodySink* sink) const { sink->release(); }
};

using BodySinkPtr = std::unique_ptr<BodySink, ReleaseSink>;

}  // namespace web
