#pragma once

#include <cstdint>

namespace web {

/// What a descriptor is watched for: one of the two at a time.
enum class Interest : std::uint8_t { receive, send };

}  // namespace web
