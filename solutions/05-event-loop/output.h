#pragma once

#include <sys/uio.h>

#include <span>

namespace web {

/// The bytes to send, in order.
struct Output {
    std::span<const iovec> bytes;
};

}  // namespace web
