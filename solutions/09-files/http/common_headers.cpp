#include "common_headers.h"

namespace web {
namespace {

constexpr std::string_view weekdays = "SunMonTueWedThuFriSat";
constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";

char* put_name(char* out, std::string_view names, unsigned index) {
    return out + names.copy(out, 3, std::size_t{3} * index);
}

char* put_two_digits(char* out, unsigned number) {
    *out++ = static_cast<char>('0' + number / 10);
    *out++ = static_cast<char>('0' + number % 10);
    return out;
}

}  // namespace

// RFC 9110 §5.6.7: an IMF-fixdate has fixed positions and English names.
void CommonHeaders::set_date(std::chrono::sys_seconds now) {
    const auto day = std::chrono::floor<std::chrono::days>(now);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss time(now - day);
    const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
    char* out = text_ + std::string_view("HTTP/1.1 200 OK\r\nDate: ").size();
    out = put_name(out, weekdays, std::chrono::weekday(day).c_encoding()) + 2;
    out = put_two_digits(out, static_cast<unsigned>(date.day())) + 1;
    out = put_name(out, months, static_cast<unsigned>(date.month()) - 1) + 1;
    out = put_two_digits(out, year / 100);
    out = put_two_digits(out, year % 100) + 1;
    out = put_two_digits(out, static_cast<unsigned>(time.hours().count())) + 1;
    out = put_two_digits(out, static_cast<unsigned>(time.minutes().count())) + 1;
    put_two_digits(out, static_cast<unsigned>(time.seconds().count()));
}

}  // namespace web
