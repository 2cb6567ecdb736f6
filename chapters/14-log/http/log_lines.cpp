// TODO(14.3): what log_lines.h declares.
// - a line that might not fit is not begun: it is lost, and counted
// - the text of an address is made once per client
// - the head of a request whose body follows is kept: three parts in one string, which the next
//   such request reuses, unless it was a long one
#include "log_lines.h"
