// TODO(12.2): begin() and next() for a body with a length, which is one run of data.
// TODO(12.3): everything else that body_parser.h declares. Read framing one byte at a time, and
// data as much as there is.
// - a chunk is its size, optional extensions, CRLF, the data, CRLF; the chunk of size 0 ends the
//   body, with optional trailers and an empty line (RFC 9112 §7.1)
// - a size has at most 16 digits; a body that is too large is refused before its bytes arrive
// - a line ends with CRLF and nothing else; anything else that is not a valid chunk is 400
// - extensions and trailers are skipped, up to max_chunk_extras bytes: more extensions are 400,
//   more trailers 431. Count the bytes read in Place::space and in the places listed below it. A
//   trailer looks like a field but is not treated as one.
#include "body_parser.h"
