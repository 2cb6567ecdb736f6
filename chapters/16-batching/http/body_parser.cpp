#include "body_parser.h"

#include <utility>

namespace web {
namespace {

/// The maximum number of digits of a 64-bit size: with more, the number would wrap around.
constexpr std::uint8_t max_digits = 16;

std::unexpected<Status> reject(Status status) {
    return std::unexpected(status);
}

/// The value of a hexadecimal digit; 16 for any other byte.
unsigned digit_value(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    const int lower = c | 0x20;
    return lower >= 'a' && lower <= 'f' ? static_cast<unsigned>(lower - 'a' + 10) : 16;
}

bool is_space(char c) {
    return c == ' ' || c == '\t';
}

// RFC 9110 §5.6.2.
bool is_name_byte(char c) {
    const int lower = c | 0x20;
    return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z') ||
           std::string_view("!#$%&'*+-.^_`|~").contains(c);
}

// RFC 9110 §5.5: no control characters, and therefore no bare line feed, which another parser might
// treat as the end of a line.
bool is_field_byte(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
}

}  // namespace

void BodyParser::begin(const Request& request) {
    chunked_ = request.chunked;
    left_ = request.content_length;
    max_left_ = max_body;
    extras_ = 0;
    digits_ = 0;
    place_ = chunked_ ? Place::size : Place::data;
}

std::expected<BodyParser::Piece, Status> BodyParser::next(std::string_view bytes) {
    std::size_t used = 0;
    while (used < bytes.size() && place_ != Place::data && place_ != Place::end) {
        if (auto result = take(bytes[used++]); !result) return reject(result.error());
    }
    if (place_ != Place::data) return Piece{{}, used};
    const std::string_view data = bytes.substr(used, left_);
    left_ -= data.size();
    if (left_ == 0) place_ = chunked_ ? Place::data_return : Place::end;
    return Piece{data, used + data.size()};
}

// RFC 9112 §7.1: size, optional extensions, CRLF, data, CRLF. After a size of 0: optional trailers,
// which are lines like those of a head, and an empty line.
ParseResult BodyParser::take(char c) {
    const auto to = [this](Place next, bool right = true) -> ParseResult {
        if (!right) return reject(Status::bad_request);
        place_ = next;
        return {};
    };
    if (place_ >= Place::space && ++extras_ > max_chunk_extras) {
        return reject(place_ < Place::trailer ? Status::bad_request : Status::fields_too_large);
    }
    switch (place_) {
        case Place::size: return add_digit(c);
        case Place::more_size:
            if (c == '\r') return to(Place::size_end);
            if (c == ';') return to(Place::extension);
            if (is_space(c)) return to(Place::space);
            return add_digit(c);
        case Place::size_end: return end_size(c);
        case Place::data_return: return to(Place::data_end, c == '\r');
        case Place::data_end: return to(Place::size, c == '\n');
        case Place::space:
            if (c == ';') return to(Place::extension);
            return to(Place::space, is_space(c));
        case Place::extension:
            if (c == '\r') return to(Place::size_end);
            return to(Place::extension, is_field_byte(c));
        case Place::trailer:
            if (c == '\r') return to(Place::last_line_end);
            return to(Place::trailer_name, is_name_byte(c));
        case Place::trailer_name:
            if (c == ':') return to(Place::trailer_value);
            return to(Place::trailer_name, is_name_byte(c));
        case Place::trailer_value:
            if (c == '\r') return to(Place::trailer_end);
            return to(Place::trailer_value, is_field_byte(c));
        case Place::trailer_end: return to(Place::trailer, c == '\n');
        case Place::last_line_end: return to(Place::end, c == '\n');
        default: std::unreachable();  // data and end have no framing
    }
}

ParseResult BodyParser::add_digit(char c) {
    const unsigned value = digit_value(c);
    if (value > 15 || digits_ == max_digits) return reject(Status::bad_request);
    left_ = left_ * 16 + value;
    ++digits_;
    place_ = Place::more_size;
    return {};
}

// A size is checked before any of its data arrives.
ParseResult BodyParser::end_size(char c) {
    if (c != '\n') return reject(Status::bad_request);
    if (left_ > max_left_) return reject(Status::content_too_large);
    max_left_ -= left_;
    digits_ = 0;
    place_ = left_ > 0 ? Place::data : Place::trailer;
    return {};
}

}  // namespace web
