#pragma once

#include <memory>
#include <string>

#include "file_cache.h"
#include "handler.h"

namespace web {

/// Answers GET and HEAD with the files beneath a directory, and all other requests, or those
/// without a matching file, with the application's answer. Other methods on a file get 405. Throws
/// std::system_error if there is no such directory.
std::unique_ptr<Handler> serve_files(const std::string& root, const CacheBounds& bounds,
                                     std::unique_ptr<Handler> app);

}  // namespace web
