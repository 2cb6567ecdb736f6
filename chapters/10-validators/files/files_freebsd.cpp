#include "files_system.h"

namespace web {

// open(2): O_RESOLVE_BENEATH exists since FreeBSD 13.
Fd open_beneath(const Fd& root, const char* name) {
    return Fd(::openat(root.number(), name, open_flags | O_RESOLVE_BENEATH));
}

}  // namespace web
