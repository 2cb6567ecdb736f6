#pragma once

#include "request.h"
#include "response.h"

namespace web {

/// The application: a page at /, the body back from /echo, its length from /sink.
void respond(const Request& request, Response& response);

}  // namespace web
