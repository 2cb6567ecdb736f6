#include "files_system.h"

namespace web {

Fd open_beneath(const Fd& root, const char* name) {
    return walk_beneath(root, name);
}

}  // namespace web
