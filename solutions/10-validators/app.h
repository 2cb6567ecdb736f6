#pragma once

#include <memory>
#include <string>

#include "handler.h"

namespace web {

/// The application: a page at /, the body back from /echo, its length from /sink; and the files
/// beneath the directory `root`, unless that is empty. Throws std::system_error if it is none.
std::unique_ptr<Handler> make_app(const std::string& root = {});

}  // namespace web
