// TODO(10): the entity tag, and the field lines of a representation.
// - the tag: made of the time in nanoseconds, the size and the coding, so that no two forms or
//   versions share one
// - Last-Modified (never later than the answer's Date: §8.8.2.1), ETag, Accept-Ranges, and where
//   they apply Vary, Content-Encoding, Content-Range
#include "representation.h"
