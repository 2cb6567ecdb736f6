#pragma once

#include <cstddef>
#include <expected>
#include <string_view>
#include <utility>

#include "request.h"
#include "status.h"

namespace web {

/// Maximum length of a request line in bytes, without its CRLF. A longer one gets 414 (RFC 9110
/// §15.5.15).
inline constexpr std::size_t max_request_line = 8 * 1024;
/// Maximum length of all field lines in bytes, with their CRLFs. Longer gets 431 (RFC 6585 §5).
inline constexpr std::size_t max_fields = 64 * 1024;
/// Maximum length of a body in bytes. A longer one gets 413 (RFC 9110 §15.5.14).
inline constexpr std::size_t max_body = 10 * 1024 * 1024;

/// The error is the status to refuse the request with.
using ParseResult = std::expected<void, Status>;

/// Parses one request's head, line by line, from bytes that arrive in pieces. No byte is parsed
/// twice unless the buffer moves. Makes no system calls.
class HttpParser {
public:
    enum class Progress { incomplete, complete };

    /// `buffer` holds everything received so far and may have moved since the last call. Once the
    /// head is complete, `request` has views of it.
    std::expected<Progress, Status> parse(std::string_view buffer, Request& request);

    /// Where the body begins, once the head is complete.
    std::size_t head_size() const { return scanned_; }

    /// The complete head, once it is complete. A view of the buffer, like the request's.
    std::string_view head() const { return {bytes_, scanned_}; }

    /// Prepares for the next request.
    void reset() { *this = HttpParser(); }

private:
    /// In bytes, with CR and LF.
    static constexpr std::size_t request_line_limit = max_request_line + 2;

    /// A field that may appear only once.
    struct Once {
        bool seen = false;
        bool good = true;

        void add(bool value_is_good) { good = !std::exchange(seen, true) && value_is_good; }
    };

    /// The fields that determine the framing of the request and what happens after it.
    struct Framing {
        Once host;
        Once length;
        Once coding;
        Once expect;
        bool close = false;
        bool keep_alive = false;
        bool other_coding = false;  // a coding other than a single `chunked`
    };

    void begin_at(const char* bytes);
    ParseResult end_request_line(std::string_view line, Request& request);
    Status too_long() const {
        return fields_ == 0 ? Status::uri_too_long : Status::fields_too_large;
    }
    bool parse_field(const char* line, const char* end, Request& request);
    bool process_field(std::string_view name, std::string_view value, Request& request);
    bool parse_codings(std::string_view list);
    static bool parse_length(std::string_view value, Request& request);
    std::expected<Progress, Status> finish_head(const char* end, Request& request);

    std::size_t scanned_ = 0;                 // every line end before this has been found
    std::size_t line_ = 0;                    // where the line being scanned begins
    std::size_t limit_ = request_line_limit;  // where line or fields must end, with line ends
    std::size_t fields_ = 0;                  // where the field lines begin
    const char* bytes_ = nullptr;             // where the buffer was when its views were made
    Framing framing_;
    bool malformed_ = false;  // a field line was; reported after all limits are checked
};

}  // namespace web
