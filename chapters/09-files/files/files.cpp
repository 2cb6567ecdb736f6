// TODO(9.3): what files.h declares, for all systems.
// - the root: opened once, as a directory that may be searched; otherwise throw an error that names
//   --root and the reason. Opening it with "/." appended checks the right to search it
// - open(): open_beneath(), then fstat(2): a regular file, a directory, or FileError::missing for
//   anything else and for every failure.
// TODO(9.4): running out of descriptors or memory (EMFILE, ENFILE, ENOMEM), a disk error (EIO), or
// an error that asks for a retry (EAGAIN, EINTR) is a different error from a missing file.
#include "files.h"
