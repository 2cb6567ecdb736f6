#include "http_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace web {
namespace {

/// The path of the target http://host, whose bytes contain no path to refer to.
constexpr std::string_view root = "/";

constexpr std::size_t crlf_size = 2;

std::unexpected<Status> reject(Status status) {
    return std::unexpected(status);
}

// The classes that a byte belongs to: one table lookup replaces a chain of comparisons.
enum ByteClass : std::uint8_t {
    token_byte = 1,
    path_byte = 2,
    query_byte = 4,
    name_byte = 8,
    address_byte = 16,
    digit_byte = 32,
};

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

constexpr bool is_alphanumeric(char c) {
    return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// RFC 9110 §5.6.2 (token), RFC 9112 §3.2 (path and query: no space, control character or fragment),
// RFC 3986 §3.2.2 (name or IPv4 address, and IPv6 address, of a host). The grammar of a name allows
// a comma, but we refuse it, because a proxy may have joined two Host fields with one (RFC 9110
// §5.3).
constexpr std::array<std::uint8_t, 256> byte_classes = [] {
    constexpr std::string_view token_marks = "!#$%&'*+-.^_`|~";
    constexpr std::string_view name_marks = "-._~%!$&'()*+;=";
    constexpr std::string_view of_addresses = "0123456789abcdefABCDEF:.";
    std::array<std::uint8_t, 256> classes{};
    for (std::size_t i = 0x21; i < 0x7f; ++i) {
        const char c = static_cast<char>(i);
        const bool alphanumeric = is_alphanumeric(c);
        if (alphanumeric || token_marks.contains(c)) classes[i] |= token_byte;
        if (c != '#' && c != '?') classes[i] |= path_byte;
        if (c != '#') classes[i] |= query_byte;
        if (alphanumeric || name_marks.contains(c)) classes[i] |= name_byte;
        if (of_addresses.contains(c)) classes[i] |= address_byte;
        if (is_digit(c)) classes[i] |= digit_byte;
    }
    return classes;
}();

bool is(char c, ByteClass wanted) {
    return (byte_classes[static_cast<unsigned char>(c)] & wanted) != 0;
}

/// Returns the first byte that is not of the class `wanted`. `bytes` must be part of a line: the CR
/// at its end belongs to no class, so no end needs to be checked. Four bytes per iteration, to
/// increment the pointer once instead of four times.
const char* skip(const char* bytes, ByteClass wanted) {
    for (;; bytes += 4) {
        if (!is(bytes[0], wanted)) return bytes;
        if (!is(bytes[1], wanted)) return bytes + 1;
        if (!is(bytes[2], wanted)) return bytes + 2;
        if (!is(bytes[3], wanted)) return bytes + 3;
    }
}

bool is_all(std::string_view text, ByteClass wanted) {
    return skip(text.data(), wanted) == text.data() + text.size();
}

// RFC 9110 §5.5: visible characters, spaces, tabs, and bytes from 0x80 on.
bool is_field_byte(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
}

/// Non-zero if one of eight bytes is below 0x20 or is 0x7f.
std::uint64_t find_controls(const char* eight_bytes) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    std::uint64_t word;
    std::memcpy(&word, eight_bytes, sizeof word);
    const std::uint64_t is_del = word ^ (ones * 0x7f);
    return (((word - ones * 0x20) & ~word) | ((is_del - ones) & ~is_del)) & (ones * 0x80);
}

// Tests eight bytes per step, without a branch inside a step, so that the compiler can combine
// several steps. The last step ends at the end of the text and may overlap the one before. A byte
// found this way may still be a tab, which is allowed.
bool is_field_value(std::string_view text) {
    constexpr std::size_t step = 8;
    if (text.size() >= step) {
        const std::size_t last = text.size() - step;
        std::uint64_t found = find_controls(text.data() + last);
        for (std::size_t i = 0; i < last; i += step)
            found |= find_controls(text.data() + i);
        if (found == 0) return true;
    }
    return std::ranges::all_of(text, is_field_byte);
}

// Every method but GET, which the caller has already recognised. Each comparison covers all bytes
// of the name at once.
Method find_method(std::string_view name) {
    if (name == "POST") return Method::post;
    if (name == "HEAD") return Method::head;
    if (name == "PUT") return Method::put;
    if (name == "DELETE") return Method::del;
    if (name == "OPTIONS") return Method::options;
    if (name == "PATCH") return Method::patch;
    return Method::unknown;
}

/// A string literal as a template argument, so that each comparison is with constants.
template <std::size_t size>
struct Literal {
    consteval Literal(const char (&text)[size]) { std::ranges::copy(text, bytes); }
    char bytes[size];
};

/// Case-insensitive comparison (RFC 9110 §5.1). `lower` must not contain upper-case letters.
template <Literal lower>
bool is_same(std::string_view text) {
    constexpr std::size_t size = sizeof lower.bytes - 1;
    if (text.size() != size) return false;
    bool same = true;
    for (std::size_t i = 0; i < size; ++i) {
        const bool is_letter = lower.bytes[i] >= 'a' && lower.bytes[i] <= 'z';
        same &= (text[i] | (is_letter ? 0x20 : 0)) == lower.bytes[i];
    }
    return same;
}

bool is_version(std::string_view text) {
    return text.starts_with("HTTP/") && is_digit(text[5]) && text[6] == '.' && is_digit(text[7]);
}

// RFC 3986 §3.2.3 allows any number of digits, even none. TCP has no port above 65535.
bool is_port(std::string_view digits) {
    if (digits.size() < 5) [[likely]]
        return true;
    std::uint16_t port;
    return std::from_chars(digits.data(), digits.data() + digits.size(), port).ec == std::errc{};
}

// RFC 9110 §7.2: a host, then optionally a colon and a port.
/// Returns the end of the host and its optional port, or nullptr if they are invalid. `text` must
/// be part of a line.
const char* skip_host(const char* text) {
    const char* end = skip(text, name_byte);
    if (*text == '[') {
        end = skip(text + 1, address_byte);
        if (end == text + 1 || *end++ != ']') return nullptr;
    }
    if (end == text) return nullptr;
    if (*end != ':') return end;
    const char* const port = end + 1;
    end = skip(port, digit_byte);
    return is_port({port, end}) ? end : nullptr;
}

template <Literal scheme>
bool skip_scheme(std::string_view& target) {
    constexpr std::size_t size = sizeof scheme.bytes - 1;
    if (!is_same<scheme>(target.substr(0, size))) return false;
    target.remove_prefix(size);
    return true;
}

// RFC 9112 §3.2.2: scheme and host, which the Host field repeats, before path and query. A target
// of the other scheme is misdirected (RFC 9110 §7.4).
bool skip_authority(std::string_view& target, Scheme scheme) {
    const bool skipped =
        scheme == Scheme::https ? skip_scheme<"https://">(target) : skip_scheme<"http://">(target);
    if (!skipped) return false;
    const char* const host_end = skip_host(target.data());
    if (host_end == nullptr) return false;
    target = {host_end, target.data() + target.size()};
    return target.empty() || target[0] == '/' || target[0] == '?';
}

// RFC 9112 §3.2: a path with an optional query, on its own or in a whole URI; or "*".
bool parse_target(std::string_view target, Request& request) {
    if (target[0] != '/' && target != "*" && !skip_authority(target, request.scheme)) return false;
    const char* const path_end = skip(target.data(), path_byte);
    const char* const end = target.data() + target.size();
    request.path = path_end == target.data() ? root : std::string_view(target.data(), path_end);
    if (path_end == end) return true;
    request.query = {path_end + 1, end};
    return *path_end == '?' && is_all(request.query, query_byte);
}

// RFC 9110 §9.3.6: CONNECT has a host and a port, which isn't empty.
bool is_authority_form(std::string_view target) {
    const bool has_port = target.contains(':') && !target.ends_with(':') && !target.ends_with(']');
    return has_port && skip_host(target.data()) == target.data() + target.size();
}

bool is_space(char c) {
    return c == ' ' || c == '\t';
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && is_space(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_space(text.back()))
        text.remove_suffix(1);
    return text;
}

/// Removes the first element of a list and returns it, or nothing at the list's end. Empty elements
/// are skipped (RFC 9110 §5.6.1.2).
std::string_view take_element(std::string_view& list) {
    std::string_view element;
    while (element.empty() && !list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        element = trim(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return element;
}

// RFC 9110 §7.6.1: a list of options.
template <Literal option>
bool has_option(std::string_view list) {
    while (!list.empty()) {
        if (is_same<option>(take_element(list))) return true;
    }
    return false;
}

ParseResult parse_version(std::string_view text, Request& request) {
    if (text == "HTTP/1.1") [[likely]] {
        request.version = Version::http_1_1;
    } else if (text == "HTTP/1.0") {
        request.version = Version::http_1_0;
    } else if (!is_version(text)) {
        return reject(Status::bad_request);
    } else if (text[5] != '1') {
        return reject(Status::version_not_supported);
    } else {
        request.version = Version::http_1_1;  // RFC 9110 §6.2: a later minor version is compatible
    }
    return {};
}

// RFC 9112 §3: method, one space, target, one space, version.
ParseResult parse_request_line(std::string_view line, Request& request) {
    constexpr std::size_t shortest = std::string_view("M / HTTP/1.1").size();
    if (line.size() < shortest) return reject(Status::bad_request);
    const bool is_get = line.starts_with("GET ");
    const char* const method_end = is_get ? line.data() + 3 : skip(line.data(), token_byte);
    const char* const target = method_end + 1;
    const char* const version = line.end() - std::string_view("HTTP/1.1").size();
    if (method_end == line.data() || target >= version - 1) return reject(Status::bad_request);
    if (*method_end != ' ' || version[-1] != ' ') return reject(Status::bad_request);
    const std::string_view method(line.data(), method_end);
    request.method = is_get ? Method::get : find_method(method);
    const bool valid = !is_get && method == "CONNECT"
                           ? is_authority_form({target, version - 1})
                           : parse_target({target, version - 1}, request);
    if (!valid) return reject(Status::bad_request);
    if (auto result = parse_version({version, line.end()}, request); !result) return result;
    if (request.method == Method::unknown) return reject(Status::not_implemented);
    return {};
}

// memchr(3) compares many bytes at once, but for the empty line that ends a head the call isn't
// worth its cost.
const char* find_line_feed(const char* from, const char* end) {
    if (end - from >= 2 && from[0] == '\r' && from[1] == '\n') return from + 1;
    return static_cast<const char*>(std::memchr(from, '\n', static_cast<std::size_t>(end - from)));
}

}  // namespace

std::expected<HttpParser::Progress, Status> HttpParser::parse(std::string_view buffer,
                                                              Request& request) {
    if (buffer.data() != bytes_) begin_at(buffer.data());
    const char* const end = bytes_ + buffer.size();
    const char* line = bytes_ + line_;
    const char* from = bytes_ + scanned_;
    while (const char* line_feed = find_line_feed(from, end)) {
        from = line_feed + 1;
        if (static_cast<std::size_t>(from - bytes_) > limit_) return reject(too_long());
        if (line_feed == line || line_feed[-1] != '\r') return reject(Status::bad_request);
        const char* const line_end = line_feed - 1;
        if (fields_ == 0) {
            if (auto result = end_request_line({line, line_end}, request); !result)
                return reject(result.error());
        } else if (line != line_end) {
            if (!parse_field(line, line_end, request)) malformed_ = true;
        } else {
            return finish_head(line, request);
        }
        line = from;
    }
    line_ = static_cast<std::size_t>(line - bytes_);
    scanned_ = buffer.size();
    if (scanned_ >= limit_) return reject(too_long());
    return Progress::incomplete;
}

// When the buffer moves, as it does when it grows, the views point to freed memory, so parsing
// starts again. That at most doubles the work, because moving the buffer has touched all the bytes
// already.
void HttpParser::begin_at(const char* bytes) {
    if (bytes_ != nullptr) reset();
    bytes_ = bytes;
}

// RFC 9112 §2.2: one empty line before the request line is skipped.
ParseResult HttpParser::end_request_line(std::string_view line, Request& request) {
    if (line.empty() && limit_ == request_line_limit) {
        limit_ += crlf_size;
        return {};
    }
    fields_ = static_cast<std::size_t>(line.end() - bytes_) + crlf_size;
    limit_ = fields_ + max_fields + crlf_size;
    return parse_request_line(line, request);
}

// RFC 9112 §5: name, colon, optional space, value, optional space.
bool HttpParser::parse_field(const char* line, const char* end, Request& request) {
    const char* const colon = skip(line, token_byte);
    if (colon == line || *colon != ':') return false;
    const char* value = colon + 1;
    while (is_space(*value))
        ++value;
    while (end > value && is_space(end[-1]))
        --end;
    const std::string_view name(line, colon);
    if (!is_same<"host">(name)) return process_field(name, {value, end}, request);
    framing_.host.add(skip_host(value) == end || value == end);
    return true;
}

bool HttpParser::process_field(std::string_view name, std::string_view value, Request& request) {
    if (is_same<"connection">(name)) {
        framing_.close |= has_option<"close">(value);
        framing_.keep_alive |= has_option<"keep-alive">(value);
    } else if (is_same<"content-length">(name)) {
        framing_.length.add(parse_length(value, request));
    } else if (is_same<"transfer-encoding">(name)) {
        framing_.coding.add(parse_codings(value));
    } else if (is_same<"expect">(name)) {
        for (std::string_view list = value, element; !(element = take_element(list)).empty();)
            framing_.expect.add(is_same<"100-continue">(element));
    }
    return is_field_value(value);
}

/// Returns whether the last coding is `chunked`.
bool HttpParser::parse_codings(std::string_view list) {
    std::string_view last;
    for (std::string_view coding; !(coding = take_element(list)).empty(); last = coding)
        framing_.other_coding |= !last.empty() || !is_same<"chunked">(coding);
    return is_same<"chunked">(last);
}

// RFC 9112 §6.2: only digits. A number that overflows is above any limit.
bool HttpParser::parse_length(std::string_view value, Request& request) {
    const char* end = value.data() + value.size();
    const auto [stopped, error] = std::from_chars(value.data(), end, request.content_length);
    if (error == std::errc::result_out_of_range) request.content_length = max_body + 1;
    return error != std::errc::invalid_argument && stopped == end;
}

// `end` is where the empty line begins.
std::expected<HttpParser::Progress, Status> HttpParser::finish_head(const char* end,
                                                                    Request& request) {
    auto& [host, length, coding, expect, close, keep_alive, other_coding] = framing_;
    const bool is_1_0 = request.version == Version::http_1_0;
    if (is_1_0) {
        // HTTP/1.0 needs no Host, does not define Expect (RFC 9110 §10.1.1), and closes unless
        // asked to keep the connection open.
        host.seen = true;
        expect = {};
        close |= !keep_alive;
    }
    // RFC 9112 §3.2: exactly one Host. It's empty if the target has no authority.
    if (malformed_ || !host.seen || !host.good || !length.good) return reject(Status::bad_request);
    if (coding.seen) {
        // RFC 9112 §6.1 and §6.3: two framings at once, or one that HTTP/1.0 does not define, allow
        // request smuggling. Only if chunked is the last coding is the end of the body known.
        if (length.seen || is_1_0 || !coding.good) return reject(Status::bad_request);
        if (other_coding) return reject(Status::not_implemented);
    }
    if (request.content_length > max_body) return reject(Status::content_too_large);
    if (!expect.good) return reject(Status::expectation_failed);
    request.chunked = coding.seen;
    request.expects_continue = expect.seen;
    request.keep_alive = !close;  // RFC 9112 §9.3
    request.fields = {bytes_ + fields_, end};
    scanned_ = static_cast<std::size_t>(end - bytes_) + crlf_size;
    return Progress::complete;
}

}  // namespace web
