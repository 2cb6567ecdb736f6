// TODO(9): what files.h declares, for all systems.
// - the root: opened once, as a directory, by somebody who may search it: or say --root and why
// - open(): open_beneath(), then fstat(2): a regular file, a directory, or nothing for us. Out of
//   descriptors or memory is another error than not to be there.
// - here is also ~File(), so that who only hands a file on does not call close(2) itself, and
//   size_of(), which files_system.h declares.
#include "files.h"
