// Whatever a client sends, its log entry must be one line of the right form that contains the bytes
// sent.

#include "log_format.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace {

void must(bool holds) {
    if (!holds) std::abort();
}

/// Turns the text's lines into field lines, because no parser accepts a field with a line end
/// inside.
std::string fields_of(std::string_view text) {
    std::string fields;
    for (const char c : text) {
        if (c == '\n') {
            fields += "\r\n";
        } else if (c != '\r') {
            fields += c;
        }
    }
    return fields += "\r\n";
}

/// Allocates exactly the promised maximum, so that the address sanitizer detects writes beyond it.
std::string line_of(web::LogFormat format, const web::LoggedHead& head) {
    const auto space = std::make_unique_for_overwrite<char[]>(web::max_log_line);
    const web::LogEntry entry{.address = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                              .head = head,
                              .status = 200,
                              .bytes = static_cast<std::size_t>(-1)};
    return {space.get(),
            web::format_line(space.get(), format, "06/Nov/1994:08:49:37 +0000", entry)};
}

/// Removes a quoted text, or the placeholder for a missing one, from the front and returns its
/// bytes.
std::string take_text(std::string_view& line, std::string_view none, std::string_view escape) {
    if (line.starts_with(none)) {
        line.remove_prefix(none.size());
        return {};
    }
    must(line.starts_with('"'));
    line.remove_prefix(1);
    std::string bytes;
    while (!line.starts_with('"')) {
        must(!line.empty() && line[0] >= ' ' && line[0] <= '~');
        if (line[0] != '\\') {
            bytes += line[0];
            line.remove_prefix(1);
            continue;
        }
        must(line.starts_with(escape) && line.size() > escape.size() + 2);
        unsigned byte = 0;
        const char* const digits = line.data() + escape.size();
        must(std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2);
        bytes += static_cast<char>(byte);
        line.remove_prefix(escape.size() + 2);
    }
    line.remove_prefix(1);
    return bytes;
}

void take(std::string_view& line, std::string_view words) {
    must(line.starts_with(words));
    line.remove_prefix(words.size());
}

std::string text(std::string_view bytes) {
    return std::string(bytes);
}

void judge_combined(const web::LoggedHead& head) {
    const std::string whole = line_of(web::LogFormat::combined, head);
    std::string_view line = whole;
    take(line, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff - - [06/Nov/1994:08:49:37 +0000] ");
    const auto next = [&] { return take_text(line, "\"-\"", "\\x"); };
    // A client that sends "-" looks the same as one that sends nothing.
    const auto said = [](std::string_view bytes) { return bytes == "-" ? "" : text(bytes); };
    must(next() == said(head.line));
    take(line, " 200 18446744073709551615 ");
    must(next() == said(head.referer));
    take(line, " ");
    must(next() == said(head.user_agent));
    must(line == "\n");
}

void judge_json(const web::LoggedHead& head) {
    const std::string whole = line_of(web::LogFormat::json, head);
    std::string_view line = whole;
    const auto next = [&] { return take_text(line, "null", "\\u00"); };
    take(line, R"({"address":"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff","time":)");
    take(line, R"("06/Nov/1994:08:49:37 +0000","request":)");
    must(next() == head.line);
    take(line, R"(,"status":200,"bytes":18446744073709551615,"referer":)");
    must(next() == head.referer);
    take(line, R"(,"user_agent":)");
    must(next() == head.user_agent);
    must(line == "}\n");
}

void judge(const web::LoggedHead& head) {
    judge_combined(head);
    judge_json(head);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::make_unique_for_overwrite<char[]>(size);
    std::copy_n(data, size, bytes.get());
    const std::string_view all(bytes.get(), size);
    const std::string fields = fields_of(all);
    judge(web::logged_head(all, fields));
    // Also with bytes that no parser accepts.
    const std::string_view some = all.substr(0, web::LoggedHead::max_field);
    judge({.line = all.substr(0, web::LoggedHead::max_line), .referer = some, .user_agent = some});
    return 0;
}
