// TODO(14.2): the constructors and append(). Open the file with O_APPEND.
// TODO(14.4): reopen(), is_same_file(), and a new file when the old one would become too large:
// first open NAME.new, then rename NAME.2, NAME.1 and NAME, then NAME.new. If one of these steps
// fails, go on in the old file, and lose none of the lines.
// TODO(14.5): keep the rest of a line that was written in part, and write it before anything else.
// Open with O_NONBLOCK, which affects a fifo but not a file. Standard output is shared with others:
// call poll(2) without waiting, and write no more than PIPE_BUF.
#include "log_file.h"
