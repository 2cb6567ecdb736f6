// TODO(9): walk_beneath(): of a name with slashes O_NOFOLLOW looks at the last part only
// (open(2)), so open one directory after the other, each from the one before. NAME_MAX is 255
// everywhere.
#include "files_system.h"
