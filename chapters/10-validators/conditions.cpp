// TODO(10): what conditions.h declares.
// - one pass over the field lines keeps what will be needed; lists may be spread over several lines
// - judge() in the order of RFC 9110 §13.2.2: If-Match, or If-Unmodified-Since where that is
// missing;
//   If-None-Match, or If-Modified-Since; then Range, of GET only and if If-Range agrees
// - If-None-Match compares weakly (§8.8.3.2), If-Match and If-Range strongly
// - a date that is none is as good as not there; If-Range's must be the very one.
#include "conditions.h"
