#pragma once

#include <chrono>
#include <string_view>

#include "status.h"

namespace web {

/// How answers begin: the status line of a 200, then the fields common to all answers, including
/// Date (RFC 9110 §6.6.1). Belongs to one thread, which updates it once a second, so an answer only
/// copies it.
class CommonHeaders {
public:
    void set_date(std::chrono::sys_seconds now);

    std::chrono::sys_seconds date() const { return date_; }

    /// Ends where the media type has to be appended.
    std::string_view of_ok() const { return {text_, sizeof text_ - 1}; }

    /// The same without the status line.
    std::string_view fields() const { return of_ok().substr(status_line(Status::ok).size()); }

    /// The same for an answer without content.
    std::string_view fields_of_nothing() const {
        constexpr std::string_view of_content = "Content-Type: ";
        return fields().substr(0, fields().size() - of_content.size());
    }

private:
    std::chrono::sys_seconds date_;
    char text_[102] =
        "HTTP/1.1 200 OK\r\n"
        "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Content-Type: ";
};

}  // namespace web
