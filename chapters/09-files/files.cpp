// TODO(9): what files.h declares, for all systems.
// - the root: opened once, as a directory that may be searched: or say --root and why. To open it
//   with a dot behind it (root + "/.") takes the right to search it
// - open(): open_beneath(), then fstat(2): a regular file, a directory, or nothing for us. Out of
//   descriptors or memory (EMFILE, ENFILE, ENOMEM), a disk that failed (EIO), or to be asked again
//   (EAGAIN, EINTR) is another error than not to be there.
// - here is also ~File(), so that who only hands a file on does not call close(2) itself, and
//   size_of(), which files_system.h declares.
#include "files.h"
