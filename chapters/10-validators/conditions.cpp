// TODO(10): what conditions.h declares.
// - one pass over the field lines stores what will be needed; lists may be spread over several
//   lines
// - judge() in the order of RFC 9110 §13.2.2: If-Match, or If-Unmodified-Since if that is missing;
//   If-None-Match, or If-Modified-Since; then Range, for GET only and only if If-Range matches
// - If-None-Match compares weakly (§8.8.3.2), If-Match and If-Range strongly
// - ignore an invalid date; the date in If-Range must be exactly the same.
#include "conditions.h"
