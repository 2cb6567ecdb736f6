// TODO(14): what log.h declares.
// - the lock is taken for a write, never for a line
// - an error is reported once; report how many lines were lost when lines can be written again (or
//   at the end)
// - SIGHUP only sets a flag: the next worker that sweeps takes it and reopens both files
#include "log.h"
