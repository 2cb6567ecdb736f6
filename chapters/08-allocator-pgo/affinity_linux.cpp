#include <sched.h>

#include <cstddef>

#include "affinity.h"

namespace web {

// sched_setaffinity(2). Only cores of our own set: a container or taskset(1) may allow few.
void stay_on_core(unsigned index) {
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    unsigned skip = index % static_cast<unsigned>(CPU_COUNT(&allowed));
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
        if (!CPU_ISSET(core, &allowed) || skip-- > 0) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        ::sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

}  // namespace web
