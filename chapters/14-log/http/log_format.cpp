// TODO(14.1): what log_format.h declares. No allocation and no system call: pieces are copied
// straight into the line, numbers written with std::to_chars.
// - the combined form, byte for byte:
//   ADDRESS - - [06/Nov/1994:08:49:37 +0000] "REQUEST LINE" STATUS BYTES "REFERER" "USER AGENT"
//   an unknown text is "-", and an unknown status is - without quotes
// - JSON is one object with the keys address, time (1994-11-06T08:49:37Z), request, status, bytes,
//   referer and user_agent in this order; an unknown value is null
// - what is not plain ASCII, and " and \, becomes \xHH in the combined form and \u00HH in JSON;
//   there is hardly ever any of it, so look first, eight bytes at a time
// - the request line is everything up to the first line end; an empty line before it is skipped
// - a message is [TIME] LEVEL: TEXT, or an object with time, level and message
#include "log_format.h"
