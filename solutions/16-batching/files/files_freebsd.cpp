#include "files_system.h"

namespace web {

// open(2): O_RESOLVE_BENEATH exists since FreeBSD 13.
Fd open_beneath(const Fd& root, const char* name) {
    return Fd(::openat(root.number(), name, open_flags | O_RESOLVE_BENEATH));
}

std::int64_t modified_ns(const struct stat& status) {
    return nanoseconds(status.st_mtim);
}

std::int64_t changed_ns(const struct stat& status) {
    return nanoseconds(status.st_ctim);
}

}  // namespace web
