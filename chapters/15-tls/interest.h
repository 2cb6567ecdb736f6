#pragma once

#include <cstdint>

namespace web {

/// What a descriptor is waited for: one thing at a time.
enum class Interest : std::uint8_t { receive, send };

}  // namespace web
