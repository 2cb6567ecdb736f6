#include "files_system.h"

namespace web {

// open(2): O_NOFOLLOW_ANY fails if any part of the name is a link.
Fd open_beneath(const Fd& root, const char* name) {
    return Fd(::openat(root.number(), name, open_flags | O_NOFOLLOW_ANY));
}

std::int64_t modified_ns(const struct stat& status) {
    return nanoseconds(status.st_mtimespec);
}

std::int64_t changed_ns(const struct stat& status) {
    return nanoseconds(status.st_ctimespec);
}

}  // namespace web
