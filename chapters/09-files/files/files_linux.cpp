// TODO(9.3): Linux's own open_beneath() of files_system.h; those of the other systems are given,
// for comparison. openat2(2) has no wrapper: syscall(SYS_openat2, …) with an open_how of
// <linux/openat2.h>. RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS. It may fail with EAGAIN: try again,
// but only a limited number of times. Where it is missing (ENOSYS) or forbidden (EPERM), use
// walk_beneath(): find out once.
#include "files_system.h"
