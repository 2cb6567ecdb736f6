// TODO(14): what log_lines.h declares.
// - a line for which there might not be room is not begun: it is lost, and counted
// - the text of an address is made once for a client (inet_ntop(3)); of a mapped one it is IPv4's
// - the head of a request whose body comes is kept: three parts in one string, which the next such
//   request uses again, unless it was a long one
#include "log_lines.h"
