#include <sched.h>

#include <cstddef>

#include "affinity.h"

namespace web {
namespace {

// sched_getaffinity(2). It fails where there are more cores than fit the set: then it is none.
cpu_set_t allowed_cores() {
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) CPU_ZERO(&allowed);
    return allowed;
}

}  // namespace

unsigned usable_cores() {
    const cpu_set_t allowed = allowed_cores();
    const int count = CPU_COUNT(&allowed);
    return count > 0 ? static_cast<unsigned>(count) : 1;
}

// sched_setaffinity(2). Only cores of our own set.
void stay_on_core(unsigned index) {
    const cpu_set_t allowed = allowed_cores();
    unsigned skip = index % usable_cores();
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
