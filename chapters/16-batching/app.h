#pragma once

#include <memory>

#include "handler.h"

namespace web {

/// The application: / returns a page, /echo returns the request body, /sink returns the body's
/// length.
std::unique_ptr<Handler> make_app();

}  // namespace web
