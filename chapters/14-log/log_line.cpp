// TODO(14): what log_line.h declares. No allocation and no system call: pieces are copied to where
// the line is made, numbers written with std::to_chars.
// - the combined form, byte for byte:
//   ADDRESS - - [06/Nov/1994:08:49:37 +0000] "REQUEST LINE" STATUS BYTES "REFERER" "USER AGENT"
//   where nothing is known stands "-", and - for a status
// - of JSON one object, with the keys address, time (1994-11-06T08:49:37Z), request, status, bytes,
//   referer and user_agent in this order; where nothing is known stands null
// - what is not plain ASCII, and " and \, is \xHH in the one, \u00HH in the other; nearly always
//   there is nothing of it, so look first, eight bytes a step
// - the request line is what comes up to the first line end; an empty line before it is skipped
// - a message is [TIME] LEVEL: TEXT, or an object with time, level and message
#include "log_line.h"
