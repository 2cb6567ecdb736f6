#include "date.h"

#include <array>
#include <ctime>

namespace web {
namespace {

constexpr std::string_view weekdays = "SunMonTueWedThuFriSat";
constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";

char* put(char* out, std::string_view text) {
    return out + text.copy(out, text.size());
}

char* put_name(char* out, std::string_view names, unsigned index) {
    return out + names.copy(out, 3, std::size_t{3} * index);
}

char* put_two_digits(char* out, unsigned number) {
    *out++ = static_cast<char>('0' + number / 10);
    *out++ = static_cast<char>('0' + number % 10);
    return out;
}

// What is sent, what was sent before 1994, and what asctime(3) writes.
constexpr const char* forms[] = {
    "%a, %d %b %Y %H:%M:%S GMT",
    "%A, %d-%b-%y %H:%M:%S GMT",
    "%a %b %e %H:%M:%S %Y",
};

using Text = std::array<char, sizeof "Wednesday, 06-Nov-94 08:49:37 GMT">;

// strptime(3) takes more than the RFC does, so what was read must be written the same. Two digits of
// a year it takes for 1969 to 2068: none is more than fifty years ahead. The names are English ones:
// nobody calls setlocale(3) here.
std::optional<std::chrono::sys_seconds> parse_as(const char* form, const Text& text) {
    std::tm utc{};
    const char* const end = ::strptime(text.data(), form, &utc);
    if (end == nullptr || *end != '\0') return {};
    const std::time_t seconds = ::timegm(&utc);  // which sets the day of the week, too
    Text written{};
    std::strftime(written.data(), written.size(), form, &utc);
    if (written != text) return {};
    return std::chrono::sys_seconds(std::chrono::seconds(seconds));
}

}  // namespace

// RFC 9110 §5.6.7: an IMF-fixdate has the same places for ever, and English names.
char* format_date(char* out, std::chrono::sys_seconds time) {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss of_day(time - day);
    const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
    out = put_name(out, weekdays, std::chrono::weekday(day).c_encoding());
    out = put(out, ", ");
    out = put_two_digits(out, static_cast<unsigned>(date.day()));
    out = put(out, " ");
    out = put_name(out, months, static_cast<unsigned>(date.month()) - 1);
    out = put(out, " ");
    out = put_two_digits(out, year / 100);
    out = put_two_digits(out, year % 100);
    out = put(out, " ");
    out = put_two_digits(out, static_cast<unsigned>(of_day.hours().count()));
    out = put(out, ":");
    out = put_two_digits(out, static_cast<unsigned>(of_day.minutes().count()));
    out = put(out, ":");
    out = put_two_digits(out, static_cast<unsigned>(of_day.seconds().count()));
    return put(out, " GMT");
}

std::optional<std::chrono::sys_seconds> parse_date(std::string_view text) {
    Text ended{};
    if (text.size() >= ended.size()) return {};
    text.copy(ended.data(), text.size());
    for (const char* const form : forms) {
        if (const auto time = parse_as(form, ended)) return time;
    }
    return {};
}

}  // namespace web
