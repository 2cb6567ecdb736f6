#include <algorithm>
#include <thread>

#include "affinity.h"

namespace web {

unsigned usable_cores() {
    return std::max(1u, std::thread::hardware_concurrency());
}

// FreeBSD and NetBSD have different calls for this, macOS only takes hints and OpenBSD has none. We
// leave it to their schedulers.
bool has_core_for_each(unsigned) {
    return false;
}

void pin_to_core(unsigned) {}

}  // namespace web
