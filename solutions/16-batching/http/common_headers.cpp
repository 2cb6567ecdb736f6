#include "common_headers.h"

#include "date.h"

namespace web {

void CommonHeaders::set_date(std::chrono::sys_seconds now) {
    date_ = now;
    write_date(text_ + std::string_view("HTTP/1.1 200 OK\r\nDate: ").size(), now);
}

}  // namespace web
