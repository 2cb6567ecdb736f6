// TODO(14): what log_file.h declares.
// - O_APPEND, and O_NONBLOCK, which affects a fifo but not a file; standard output is shared with
//   others: poll(2) it without waiting, and write no more than PIPE_BUF
// - the rest of a line that was written in part is kept, and written before anything else
// - a file that would become too large: first open NAME.new, then rename NAME.2, NAME.1 and NAME,
//   then NAME.new. If one of these steps fails, go on in the old file, and lose none of the lines
#include "log_file.h"
