#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

#include "http_parser.h"
#include "request.h"
#include "status.h"

namespace web {

/// Bytes of all extensions and trailers of one chunked body, with their line ends. Nobody here
/// reads them, so there need not be many; more is 400 or 431 (RFC 9112 §7.1.1, RFC 6585 §5).
inline constexpr std::size_t max_chunk_extras = 8 * 1024;

/// Finds a body, and where it ends, in bytes that arrive in pieces: by its length (RFC 9112 §6.2)
/// or chunk by chunk (§7.1). Keeps none of them, looks at none twice, and makes no system call.
class BodyParser {
public:
    /// Of the bytes that were looked at, `used` are done with once `data`, which lies among them,
    /// is. Nothing was used: more has to come.
    struct Piece {
        std::string_view data;
        std::size_t used = 0;
    };

    /// Ready for the body of a request that has one.
    void begin(const Request& request);

    /// The next piece of the body: of one chunk at most, perhaps no data.
    std::expected<Piece, Status> next(std::string_view bytes);

    /// The next byte, if there is one, is of another request.
    bool at_end() const { return place_ == Place::end; }

    /// Bytes that are still to come, of this chunk where there are chunks.
    std::size_t left() const { return left_; }

private:
    /// What the next byte is part of.
    enum class Place : std::uint8_t {
        size,  // the first digit of a chunk's size
        more_size,
        size_end,  // the line feed behind size and extensions
        data,
        data_return,  // behind a chunk's data
        data_end,
        space,  // before an extension; from here on there is a bound
        extension,
        trailer,  // its first byte, or the last line, which is empty
        trailer_name,
        trailer_value,
        trailer_end,
        last_line_end,
        end,
    };

    ParseResult take(char c);
    ParseResult add_digit(char c);
    ParseResult end_size(char c);

    std::size_t left_ = 0;      // bytes of data: of the body, or of the chunk
    std::size_t max_left_ = 0;  // what all chunks that are still to come may have
    std::uint16_t extras_ = 0;  // bytes of extensions and trailers so far
    std::uint8_t digits_ = 0;   // of this chunk's size
    Place place_ = Place::end;
    bool chunked_ = false;
};

}  // namespace web
