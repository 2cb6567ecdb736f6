#pragma once

#include <chrono>
#include <string_view>

namespace web {

/// The Date field (RFC 9110 §6.6.1), as text. Belongs to one thread, which sets it once a second:
/// an answer only copies it.
class Date {
public:
    void set(std::chrono::sys_seconds now);

    /// With its CRLF.
    std::string_view field() const { return {text_, sizeof text_ - 1}; }

private:
    char text_[sizeof "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"];
};

}  // namespace web
