// TODO(10): parse_range(). take_element() of fields.h takes lists apart.
// - only bytes=, whatever the case of its letters; one range, though empty elements may stand
// beside it
// - from a position to a position, or to the end; or so many of the last bytes
// - a position may have more digits than any number holds: then it is behind every end
// - what is no range is ignored; what begins behind the end, and the last 0 bytes, is not to be
// had.
//   The last bytes of nothing are nothing: no Content-Range could say which.
#include "range.h"
