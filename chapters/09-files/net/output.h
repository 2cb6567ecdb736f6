#pragma once

#include <sys/uio.h>

#include <span>

namespace web {

// TODO(9.5): bytes, then optionally a file, which the driver of the connection sends.
/// The bytes to send, in order.
struct Output {
    std::span<const iovec> bytes;
};

}  // namespace web
