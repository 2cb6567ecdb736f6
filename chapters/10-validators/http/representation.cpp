// TODO(10.1): the entity tag, and the field lines of a representation.
// - the tag: made of the time in nanoseconds and the size, so that no two versions share one
// - Last-Modified (never later than the answer's Date: §8.8.2.1), ETag, Accept-Ranges
// - neither Last-Modified nor ETag if the version is not distinct
// - of a 304 (which part 2 sends) only the ETag
// TODO(10.4): Content-Range, if a part is sent.
// TODO(10.5): Content-Encoding where it applies, Vary (of a 304, too), and the coding's suffix in
// the tag, so that no two forms share one.
#include "representation.h"
