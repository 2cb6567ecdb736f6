// TODO(10): what coding.h declares.
// - a weight: 0 or 1, a point, up to three digits; an element with any other is as good as not
// there
// - `*` is for all that are not named; x-gzip is gzip
// - preferred(): those with a weight above 0, and not below the plain form's if that was named; the
//   greatest weight first, and of equal ones our own order. No allocation.
#include "coding.h"
