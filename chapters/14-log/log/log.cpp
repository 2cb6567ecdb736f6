// TODO(14.2): the constructor, write() and write_line(), for the error log.
// TODO(14.3): the access log, append(), and AccessLog. The lock is taken for a write, never for a
// line.
// TODO(14.4): reopen(). Both logs must not write to the same file.
// TODO(14.5): report an error once. Report how many lines were lost when lines can be written
// again, or at the end.
#include "log.h"
