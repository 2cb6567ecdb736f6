#pragma once

#include <memory>

#include "handler.h"

namespace web {

/// The application: a page at /, the body back from /echo, its length from /sink.
std::unique_ptr<Handler> make_app();

}  // namespace web
