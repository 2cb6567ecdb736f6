// TODO(10.2): the constructor, evaluate() and lists_tag() for If-Match and If-None-Match. A
// version without a tag is only matched by *.
// - one pass over the field lines stores what will be needed; lists may be spread over several
//   lines
// - If-None-Match compares weakly (RFC 9110 §8.8.3.2), If-Match strongly
// TODO(10.3): the dates, in the order of RFC 9110 §13.2.2: If-Match, or If-Unmodified-Since if that
// is missing; If-None-Match, or If-Modified-Since. Ignore an invalid date, and any date for a
// version that has none.
// TODO(10.4): Range, for GET only and only if If-Range matches. If-Range compares strongly, and its
// date must be exactly the same.
// TODO(10.5): pass the values of Accept-Encoding to codings_.
#include "conditions.h"
