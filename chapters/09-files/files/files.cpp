// TODO(9.3): what files.h declares, for all systems.
// - the root: opened as a directory that may be searched; otherwise throw an error that names
//   --root and the reason. Opening it with "/." appended checks the right to search it
// - open(): open_beneath(), then fstat(2): a regular file, a directory, or FileError::missing for
//   anything else and for every failure.
// TODO(9.4): running out of descriptors or memory (EMFILE, ENFILE, ENOMEM), a disk error (EIO), or
// an error that asks for a retry (EAGAIN, EINTR) is a different error from a missing file.
// Before open() opens a file, and at most once per second, it opens the root anew by its name. If
// that fails, the root stays what it was.
#include "files.h"
