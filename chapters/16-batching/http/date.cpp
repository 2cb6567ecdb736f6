#include "date.h"

#include <array>
#include <ctime>

namespace web {
namespace {

// The form sent today, the one used before 1995, and that of asctime(3).
constexpr const char* forms[] = {
    "%a, %d %b %Y %H:%M:%S GMT",
    "%A, %d-%b-%y %H:%M:%S GMT",
    "%a %b %e %H:%M:%S %Y",
};

using Text = std::array<char, sizeof "Wednesday, 06-Nov-94 08:49:37 GMT">;

// strptime(3) accepts more than the RFC does, so the result is formatted again and must give the
// same text. It maps two-digit years to 1969 to 2068, so none is more than fifty years in the
// future. The names are English, because the program never calls setlocale(3).
std::optional<std::chrono::sys_seconds> parse_as(const char* form, const Text& text) {
    std::tm utc{};
    const char* const end = ::strptime(text.data(), form, &utc);
    if (end == nullptr || *end != '\0') return {};
    const std::time_t seconds = ::timegm(&utc);  // also sets the day of the week
    Text written{};
    std::strftime(written.data(), written.size(), form, &utc);
    if (written != text) return {};
    return std::chrono::sys_seconds(std::chrono::seconds(seconds));
}

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

std::optional<std::chrono::sys_seconds> parse_date(std::string_view text) {
    Text ended{};
    if (text.size() >= ended.size()) return {};
    text.copy(ended.data(), text.size());
    for (const char* const form : forms) {
        if (const auto time = parse_as(form, ended)) return time;
    }
    return {};
}

// RFC 9110 §5.6.7: an IMF-fixdate has fixed positions and English names.
void write_date(char* out, std::chrono::sys_seconds when) {
    const auto day = std::chrono::floor<std::chrono::days>(when);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss time(when - day);
    const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
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
