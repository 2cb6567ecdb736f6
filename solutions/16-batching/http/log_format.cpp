#include "log_format.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <ctime>

#include "fields.h"

namespace web {
namespace {

/// The text before each part of a line.
struct Words {
    std::string_view address;
    std::string_view time;
    std::string_view request;
    std::string_view status;
    std::string_view bytes;
    std::string_view referer;
    std::string_view user_agent;
    std::string_view end;
    std::string_view no_text;  // written for a missing text
    std::string_view no_number;
    std::string_view escape;  // before the two hexadecimal digits of a byte
};

// The format and escapes of nginx (ngx_http_log_module, log_format combined).
constexpr Words combined = {
    .address = "",
    .time = " - - [",
    .request = "] ",
    .status = " ",
    .bytes = " ",
    .referer = " ",
    .user_agent = " ",
    .end = "\n",
    .no_text = "\"-\"",
    .no_number = "-",
    .escape = "\\x",
};

// RFC 8259 §7: any character may be escaped like this. Each byte is written as the character with
// its number, because JSON must be UTF-8 and the bytes from a client need not be.
constexpr Words json = {
    .address = "{\"address\":\"",
    .time = "\",\"time\":\"",
    .request = "\",\"request\":",
    .status = ",\"status\":",
    .bytes = ",\"bytes\":",
    .referer = ",\"referer\":",
    .user_agent = ",\"user_agent\":",
    .end = "}\n",
    .no_text = "null",
    .no_number = "null",
    .escape = "\\u00",
};

const Words& words(LogFormat format) {
    return format == LogFormat::json ? json : combined;
}

char* put(char* out, std::string_view text) {
    return out + text.copy(out, text.size());
}

char* put_number(char* out, std::size_t number) {
    return std::to_chars(out, out + 20, number).ptr;
}

bool is_plain(char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/// Non-zero if one of the eight bytes needs escaping.
std::uint64_t find_special(const char* eight_bytes) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    std::uint64_t word;
    std::memcpy(&word, eight_bytes, sizeof word);
    const auto equals = [word](char c) {
        const std::uint64_t difference = word ^ (ones * static_cast<unsigned char>(c));
        return (difference - ones) & ~difference;
    };
    const std::uint64_t controls = (word - ones * 0x20) & ~word;
    return (word | controls | equals('"') | equals('\\') | equals(0x7f)) & (ones * 0x80);
}

// Eight bytes at a time, with the last step aligned to the end of the text. There is hardly ever
// anything to escape.
bool is_plain(std::string_view text) {
    constexpr std::size_t step = 8;
    if (text.size() < step) {
        return std::ranges::all_of(text, [](char c) { return is_plain(c); });
    }
    const std::size_t last = text.size() - step;
    std::uint64_t found = find_special(text.data() + last);
    for (std::size_t i = 0; i < last; i += step)
        found |= find_special(text.data() + i);
    return found == 0;
}

char* put_escaped(char* out, std::string_view text, std::string_view escape) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    if (is_plain(text)) [[likely]]
        return put(out, text);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_plain(c)) {
            *out++ = c;
        } else {
            out = put(out, escape);
            *out++ = digits[byte / 16];
            *out++ = digits[byte % 16];
        }
    }
    return out;
}

char* put_text(char* out, std::string_view text, const Words& words) {
    if (text.empty()) return put(out, words.no_text);
    *out++ = '"';
    out = put_escaped(out, text, words.escape);
    *out++ = '"';
    return out;
}

// The texts are compile-time constants, so each becomes a store or two instead of a call.
template <const Words& before>
char* put_line(char* out, std::string_view time, const LogEntry& entry) {
    out = put(put(out, before.address), entry.address);
    out = put(put(out, before.time), time);
    out = put_text(put(out, before.request), entry.head.line, before);
    out = put(out, before.status);
    out = entry.status ? put_number(out, entry.status) : put(out, before.no_number);
    out = put_number(put(out, before.bytes), entry.bytes);
    out = put_text(put(out, before.referer), entry.head.referer, before);
    out = put_text(put(out, before.user_agent), entry.head.user_agent, before);
    return put(out, before.end);
}

// RFC 9112 §2.2: an empty line may precede the request line.
std::string_view first_line(std::string_view head) {
    if (head.starts_with("\r\n")) head.remove_prefix(2);
    head = head.substr(0, LoggedHead::max_line + 2);
    head = head.substr(0, head.find('\n'));
    if (head.ends_with('\r')) head.remove_suffix(1);
    return head.substr(0, LoggedHead::max_line);
}

constexpr std::string_view referer = "referer";
constexpr std::string_view user_agent = "user-agent";

// Hardly any line has one of these names, so check the colon before comparing letters.
bool has_name(std::string_view line, std::string_view name) {
    return line.size() > name.size() && line[name.size()] == ':' &&
           same_name(line.substr(0, name.size()), name);
}

std::string_view value_of(std::string_view line, std::string_view name) {
    return trim(line.substr(name.size() + 1)).substr(0, LoggedHead::max_field);
}

std::string_view level_text(LogLevel level) {
    switch (level) {
        case LogLevel::error: return "error";
        case LogLevel::warn: return "warn";
        case LogLevel::info: break;
    }
    return "info";
}

}  // namespace

LoggedHead logged_head(std::string_view head, std::string_view fields) {
    LoggedHead found{.line = first_line(head), .referer = {}, .user_agent = {}};
    while (!fields.empty()) {
        const std::size_t end = fields.find('\n');
        const std::string_view line = fields.substr(0, end - 1);
        if (has_name(line, referer)) found.referer = value_of(line, referer);
        if (has_name(line, user_agent)) found.user_agent = value_of(line, user_agent);
        fields.remove_prefix(end + 1);
    }
    return found;
}

// The names of months are English because the program never calls setlocale(3).
void LogTime::set(LogFormat format, std::chrono::sys_seconds second) {
    const bool is_json = format == LogFormat::json;
    const std::time_t time = std::chrono::system_clock::to_time_t(second);
    std::tm utc{};
    ::gmtime_r(&time, &utc);
    size_ = std::strftime(text_.data(), text_.size(),
                          is_json ? "%Y-%m-%dT%H:%M:%SZ" : "%d/%b/%Y:%H:%M:%S +0000", &utc);
}

char* format_line(char* out, LogFormat format, std::string_view time, const LogEntry& entry) {
    return format == LogFormat::json ? put_line<json>(out, time, entry)
                                     : put_line<combined>(out, time, entry);
}

char* format_message(char* out, LogFormat format, std::string_view time, LogLevel level,
                     std::string_view message) {
    message = message.substr(0, LoggedHead::max_field);
    const bool is_json = format == LogFormat::json;
    out = put(put(out, is_json ? "{\"time\":\"" : "["), time);
    out = put(put(out, is_json ? "\",\"level\":\"" : "] "), level_text(level));
    out = put(out, is_json ? "\",\"message\":\"" : ": ");
    out = put_escaped(out, message, words(format).escape);
    return put(out, is_json ? "\"}\n" : "\n");
}

}  // namespace web
