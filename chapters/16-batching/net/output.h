#pragma once

#include <sys/uio.h>

#include <span>

#include "open_file.h"

namespace web {

/// What to send, in order: bytes, then optionally a file.
struct Output {
    std::span<const iovec> bytes;
    const FileRange* file = nullptr;
};

}  // namespace web
