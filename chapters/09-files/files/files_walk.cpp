// TODO(9.3): walk_beneath(): for a name with slashes O_NOFOLLOW only checks the last part
// (open(2)), so open one directory after the other, each relative to the previous one. NAME_MAX is
// 255 everywhere.
#include "files_system.h"
