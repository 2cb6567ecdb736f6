// TODO(14): what log.h declares.
// - the lock is taken for a write, never for a line
// - an error is told once, and when lines can be written again (or at the end) how many were lost
// - SIGHUP only sets a flag: whoever sweeps next takes it and opens both files
#include "log.h"
