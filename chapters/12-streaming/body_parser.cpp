// TODO(12): what body_parser.h declares. A byte of framing at a time, data as much as there is.
// - a body of a length is one run of data; of chunks: size, perhaps extensions, CRLF, so many
//   bytes, CRLF; the one of size 0 ends it, with perhaps trailers and an empty line (RFC 9112 §7.1)
// - a size has at most 16 digits; that the body is too large is known before its bytes come
// - a line ends with CRLF and nothing else; what else is no chunk is 400
// - extensions and trailers are skipped, max_chunk_extras bytes of them: more extensions are 400,
//   more trailers 431. Bytes taken in Place::space and in the places below it are counted. A
//   trailer looks like a field; none is one.
#include "body_parser.h"
