#include <linux/openat2.h>
#include <sys/syscall.h>

#include <cerrno>

#include "files_system.h"

namespace web {
namespace {

// While directories are being renamed, openat2(2) may fail with EAGAIN and have to be repeated.
constexpr int max_tries = 8;

Fd open_once(int root, const char* name) {
    open_how how{};
    how.flags = open_flags;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    return Fd(static_cast<int>(::syscall(SYS_openat2, root, name, &how, sizeof how)));
}

// Kernels before 5.6 lack the call, and some containers forbid it.
bool has_openat2() {
    const Fd here = open_once(AT_FDCWD, ".");
    return here.number() >= 0 || (errno != ENOSYS && errno != EPERM);
}

}  // namespace

Fd open_beneath(const Fd& root, const char* name) {
    static const bool whole_names = has_openat2();
    for (int tries = 0; whole_names && tries < max_tries; ++tries) {
        Fd file = open_once(root.number(), name);
        if (file.number() >= 0 || errno != EAGAIN) return file;
    }
    return walk_beneath(root, name);
}

std::int64_t modified_ns(const struct stat& status) {
    return nanoseconds(status.st_mtim);
}

std::int64_t changed_ns(const struct stat& status) {
    return nanoseconds(status.st_ctim);
}

}  // namespace web
