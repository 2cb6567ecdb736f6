#include "date.h"

#include <ctime>

namespace web {

// RFC 9110 §5.6.7. The names are English ones: nobody calls setlocale(3) here.
void Date::set(std::chrono::sys_seconds now) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    std::strftime(text_, sizeof text_, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc);
}

}  // namespace web
