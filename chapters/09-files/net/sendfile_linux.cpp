// TODO(9.5): Linux's own send_with_file(); those of the other systems are given, for comparison.
// Send the head with MSG_MORE, then the file with sendfile(2). If it is refused,
// is_refused(errno), send_copy() sends the piece, and from then on all of this file.
#include "sendfile.h"
