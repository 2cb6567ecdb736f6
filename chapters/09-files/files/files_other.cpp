// GIVEN(9.3), for you to use: nothing to write here. Read it first.
#include "files_system.h"

namespace web {

Fd open_beneath(const Fd& root, const char* name) {
    return walk_beneath(root, name);
}

}  // namespace web
