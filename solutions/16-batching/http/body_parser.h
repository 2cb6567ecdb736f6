#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

#include "http_parser.h"
#include "request.h"
#include "status.h"

namespace web {

/// Maximum total of bytes in the extensions and trailers of one chunked body, with their line ends.
/// The server ignores them, so the limit is small; more is 400 or 431 (RFC 9112 §7.1.1, RFC 6585
/// §5).
inline constexpr std::size_t max_chunk_extras = 8 * 1024;

/// Finds a body and its end in bytes that arrive in pieces: by its length (RFC 9112 §6.2) or chunk
/// by chunk (§7.1). Stores no bytes, reads none twice, and makes no system calls.
class BodyParser {
public:
    /// `data` is a view into the bytes passed in. Once it has been processed, the first `used`
    /// bytes can be consumed. If `used` is 0, more bytes have to arrive first.
    struct Piece {
        std::string_view data;
        std::size_t used = 0;
    };

    /// Prepares for the body of a request that has one.
    void begin(const Request& request);

    /// The next piece of the body: at most the rest of one chunk, perhaps without data.
    std::expected<Piece, Status> next(std::string_view bytes);

    /// Whether the body is complete, so that any further byte belongs to the next request.
    bool at_end() const { return place_ == Place::end; }

    /// The number of bytes still to come: of the current chunk if the body is chunked, otherwise of
    /// the body.
    std::size_t left() const { return left_; }

private:
    /// The part of the framing that the next byte belongs to.
    enum class Place : std::uint8_t {
        size,  // the first digit of a chunk's size
        more_size,
        size_end,  // the line feed after the size and extensions
        data,
        data_return,  // the CR after a chunk's data
        data_end,
        space,  // before an extension; bounded from here on
        extension,
        trailer,  // the first byte of a trailer, or of the empty last line
        trailer_name,
        trailer_value,
        trailer_end,
        last_line_end,
        end,
    };

    ParseResult take(char c);
    ParseResult add_digit(char c);
    ParseResult end_size(char c);

    std::size_t left_ = 0;      // bytes of data still to come: of the body, or of the chunk
    std::size_t max_left_ = 0;  // maximum total for all further chunks
    std::uint16_t extras_ = 0;  // total bytes of extensions and trailers so far
    std::uint8_t digits_ = 0;   // digits of this chunk's size so far
    Place place_ = Place::end;
    bool chunked_ = false;
};

}  // namespace web
