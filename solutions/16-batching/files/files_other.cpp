#include "files_system.h"

namespace web {

Fd open_beneath(const Fd& root, const char* name) {
    return walk_beneath(root, name);
}

std::int64_t modified_ns(const struct stat& status) {
    return nanoseconds(status.st_mtim);
}

std::int64_t changed_ns(const struct stat& status) {
    return nanoseconds(status.st_ctim);
}

}  // namespace web
