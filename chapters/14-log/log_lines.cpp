// TODO(14): what log_lines.h declares.
// - a line that might not fit is not begun: it is lost, and counted
// - the text of an address is made once per client (inet_ntop(3)); a mapped address is written as
//   IPv4
// - the head of a request whose body follows is kept: three parts in one string, which the next
//   such request reuses, unless it was a long one
#include "log_lines.h"
