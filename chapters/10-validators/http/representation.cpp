// TODO(10.1): the entity tag, and the field lines of a representation.
// - the tag: made of the time in nanoseconds and the size, so that no two versions share one
// - Last-Modified (never later than the answer's Date: §8.8.2.1), ETag, Accept-Ranges
// TODO(10.4): Content-Range, if a part is sent.
// TODO(10.5): Vary and Content-Encoding where they apply, and the coding's suffix in the tag, so
// that no two forms share one.
#include "representation.h"
