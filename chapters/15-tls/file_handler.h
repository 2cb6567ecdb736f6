#pragma once

#include <memory>
#include <string>

#include "handler.h"
#include "hot_files.h"

namespace web {

/// Answers with the files beneath a directory; where there is none, and to methods that are not for
/// files, with what the application answers. Throws std::system_error if there is no such
/// directory.
std::unique_ptr<Handler> serve_files(const std::string& root, const CacheBounds& bounds,
                                     std::unique_ptr<Handler> app);

}  // namespace web
