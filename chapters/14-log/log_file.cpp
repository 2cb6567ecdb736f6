// TODO(14): what log_file.h declares.
// - O_APPEND, and O_NONBLOCK, which a fifo minds and a file does not; standard output is others' as
//   well: poll(2) it without waiting, and write no more than PIPE_BUF
// - of a line that was written in part the rest is kept, and written before anything else
// - a file that would become too large: first open NAME.new, then rename NAME.2, NAME.1 and NAME,
//   then NAME.new. If one of these fails, go on in the old file, and lose none
#include "log_file.h"
