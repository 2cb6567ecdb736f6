// TODO(10.5): what coding.h declares.
// - a weight: 0 or 1, a point, up to three digits; ignore an element with an invalid weight
// - `*` applies to all codings that are not named; x-gzip is gzip
// - preferred(): the codings with a weight above 0, and not below the plain form's weight if the
//   client gave one; highest weight first, and among equal weights our own order. No allocation.
#include "coding.h"
