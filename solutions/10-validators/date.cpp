#include "date.h"

#include <array>
#include <ctime>

namespace web {
namespace {

// RFC 9110 §5.6.7: what is sent, what was sent before 1994, and what asctime(3) writes. The names
// are English ones: nobody calls setlocale(3) here.
constexpr const char* imf = "%a, %d %b %Y %H:%M:%S GMT";
constexpr const char* rfc_850 = "%A, %d-%b-%y %H:%M:%S GMT";
constexpr const char* asctime = "%a %b %e %H:%M:%S %Y";

using Text = std::array<char, sizeof "Wednesday, 06-Nov-94 08:49:37 GMT">;

std::chrono::sys_seconds to_time(std::tm& utc) {
    return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&utc)));
}

// strptime(3) takes more than the RFC does, so what was read must be written the same. Two digits of
// a year it takes for 1969 to 2068: none is more than fifty years ahead.
std::optional<std::chrono::sys_seconds> parse_as(const char* format, const Text& text) {
    std::tm utc{};
    const char* const end = ::strptime(text.data(), format, &utc);
    if (end == nullptr || *end != '\0') return {};
    const auto time = to_time(utc);  // which sets the day of the week, too
    Text written{};
    std::strftime(written.data(), written.size(), format, &utc);
    if (written != text) return {};
    return time;
}

}  // namespace

void Date::set(std::chrono::sys_seconds now) {
    time_ = now;
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    std::strftime(text_, sizeof text_, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc);
}

char* format_date(char* out, std::chrono::sys_seconds time) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    return out + std::strftime(out, date_size + 1, imf, &utc);
}

std::optional<std::chrono::sys_seconds> parse_date(std::string_view text) {
    Text ended{};
    if (text.size() >= ended.size()) return {};
    text.copy(ended.data(), text.size());
    for (const char* const format : {imf, rfc_850, asctime}) {
        if (const auto time = parse_as(format, ended)) return time;
    }
    return {};
}

}  // namespace web
