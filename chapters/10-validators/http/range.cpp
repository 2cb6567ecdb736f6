// TODO(10.4): parse_range(). take_element() of fields.h splits lists.
// - only bytes=, case-insensitively; one range, though there may be empty elements next to it
// - from a position to a position, or to the end; or the last N bytes
// - a position may have more digits than fit in an integer: it is then past the end
// - ignore an invalid range; a range that begins past the end, or the last 0 bytes, cannot be
//   satisfied. The last bytes of an empty file are ignored too, because no Content-Range could
//   describe them.
#include "range.h"
