// What log_format.h and Address::text() promise, without a server, a file or a connection.
//
//   log-format           every check
//   log-format json      those whose names contain "json"

#include "log_format.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "../unit/checks.h"
#include "address.h"

namespace {

using web::LogEntry;
using web::LogFormat;
using web::LoggedHead;
using web::LogLevel;
using web::LogTime;

void equal(const char* what, std::string_view got, std::string_view wanted) {
    if (got == wanted) return;
    throw std::string(what) + ": expected " + std::string(wanted) + ", got " + std::string(got);
}

// RFC 9110 §5.6.7 has this second as its example.
LogTime time_of(LogFormat format) {
    LogTime time;
    time.set(format, std::chrono::sys_seconds(std::chrono::seconds(784111777)));
    return time;
}

std::string line_of(LogFormat format, const LogEntry& entry) {
    const auto line = std::make_unique<char[]>(web::max_log_line);
    const LogTime time = time_of(format);
    return {line.get(), web::format_line(line.get(), format, time.text(), entry)};
}

constexpr LogEntry whole{
    .address = "127.0.0.1",
    .head = {.line = "GET / HTTP/1.1", .referer = "http://a/?b=c", .user_agent = "x/1.0 (y; z)"},
    .status = 200,
    .bytes = 150,
};

void check_combined() {
    equal("a line", line_of(LogFormat::combined, whole),
          "127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"GET / HTTP/1.1\" 200 150 "
          "\"http://a/?b=c\" \"x/1.0 (y; z)\"\n");
    equal("a line without an answer", line_of(LogFormat::combined, {.address = "::1", .head = {}}),
          "::1 - - [06/Nov/1994:08:49:37 +0000] \"-\" - 0 \"-\" \"-\"\n");
}

void check_json() {
    equal("a line", line_of(LogFormat::json, whole),
          "{\"address\":\"127.0.0.1\",\"time\":\"1994-11-06T08:49:37Z\","
          "\"request\":\"GET / HTTP/1.1\",\"status\":200,\"bytes\":150,"
          "\"referer\":\"http://a/?b=c\",\"user_agent\":\"x/1.0 (y; z)\"}\n");
    equal("a line without an answer", line_of(LogFormat::json, {.address = "::1", .head = {}}),
          "{\"address\":\"::1\",\"time\":\"1994-11-06T08:49:37Z\",\"request\":null,"
          "\"status\":null,\"bytes\":0,\"referer\":null,\"user_agent\":null}\n");
}

// One special byte at each position of texts of different length.
void check_escapes(LogFormat format, std::string_view prefix) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (std::size_t size = 1; size <= 20; ++size) {
        for (std::size_t at = 0; at < size; ++at) {
            for (std::size_t byte = 0; byte < 256; ++byte) {
                const char c = static_cast<char>(byte);
                const bool plain = byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
                std::string text(size, 'a');
                text[at] = c;
                std::string wanted = text;
                if (!plain) {
                    wanted.replace(at, 1, prefix);
                    wanted.insert(at + prefix.size(), {digits[byte / 16], digits[byte % 16]});
                }
                const LoggedHead head{.line = {}, .referer = {}, .user_agent = text};
                const LogEntry entry{.address = "::1", .head = head};
                const std::string line = line_of(format, entry);
                if (!line.contains("\"" + wanted + "\"")) throw "no " + wanted + " in " + line;
            }
        }
    }
}

void check_escapes_in_combined() {
    check_escapes(LogFormat::combined, "\\x");
}

void check_escapes_in_json() {
    check_escapes(LogFormat::json, "\\u00");
}

void check_head() {
    const LoggedHead found =
        web::logged_head("\r\nGET /a HTTP/1.1\r\nHost: a\r\n",
                         "Host: a\r\nREFERER:b\r\nuser-agents: c\r\nUser-Agent:  d e  \r\n");
    equal("the request line", found.line, "GET /a HTTP/1.1");
    equal("the referer", found.referer, "b");
    equal("the user agent", found.user_agent, "d e");
    equal("a line without an end", web::logged_head("GET /a").line, "GET /a");
}

void check_long_texts() {
    const std::string text(5000, 'a');
    const LoggedHead found =
        web::logged_head(text + "\r\n", "Referer: " + text + "\r\nUser-Agent: " + text + "\r\n");
    equal("the request line", found.line, text.substr(0, LoggedHead::max_line));
    equal("the referer", found.referer, text.substr(0, LoggedHead::max_field));
    equal("the user agent", found.user_agent, text.substr(0, LoggedHead::max_field));
}

std::string message_of(LogFormat format, LogLevel level, std::string_view text) {
    const auto line = std::make_unique<char[]>(web::max_log_line);
    const LogTime time = time_of(LogFormat::json);
    return {line.get(), web::format_message(line.get(), format, time.text(), level, text)};
}

void check_messages() {
    equal("a message", message_of(LogFormat::combined, LogLevel::warn, "a \"b\""),
          "[1994-11-06T08:49:37Z] warn: a \\x22b\\x22\n");
    equal("a message in JSON", message_of(LogFormat::json, LogLevel::error, "a \"b\""),
          "{\"time\":\"1994-11-06T08:49:37Z\",\"level\":\"error\","
          "\"message\":\"a \\u0022b\\u0022\"}\n");
}

std::string text_of(const char* ipv6) {
    sockaddr_storage from{};
    auto& address = reinterpret_cast<sockaddr_in6&>(from);
    address.sin6_family = AF_INET6;
    ::inet_pton(AF_INET6, ipv6, &address.sin6_addr);
    return web::Address(from).text().data();
}

void check_addresses() {
    equal("an IPv6 address", text_of("2001:db8::1"), "2001:db8::1");
    equal("a mapped address", text_of("::ffff:192.0.2.1"), "192.0.2.1");
}

using unit::Check;

constexpr Check checks[] = {
    Check{"combined", check_combined},
    Check{"json", check_json},
    Check{"escapes-in-combined", check_escapes_in_combined},
    Check{"escapes-in-json", check_escapes_in_json},
    Check{"head", check_head},
    Check{"long-texts", check_long_texts},
    Check{"messages", check_messages},
    Check{"addresses", check_addresses},
};

}  // namespace

int main(int argc, char** argv) {
    return unit::run(checks, argc, argv);
}
