// TODO(14): what log.h declares.
// - the lock is taken for a write, never for a line
// - an error is reported once; report how many lines were lost when lines can be written again (or
//   at the end)
// - SIGHUP only signals an event: the first worker that clears it reopens both files
#include "log.h"
