// TODO(9.5): Linux's own send_with_file(); those of the other systems are given, for comparison.
// Send the head with MSG_MORE, then the file with sendfile(2).
#include "sendfile.h"
