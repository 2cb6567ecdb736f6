#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "affinity.h"

namespace web {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

// sched_getaffinity(2) fails if the machine has more cores than fit into the set. The returned set
// is then empty.
cpu_set_t allowed_cores() {
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) CPU_ZERO(&allowed);
    return allowed;
}

unsigned count_of(const cpu_set_t& cores) {
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&cores)));
}

// The number of cores whose time this group may use, perhaps a fraction. No limit is written as
// "max" in version 2, and as a negative number in version 1.
double quota_of(const std::filesystem::path& group) {
    double time = 0, period = 0;
    std::ifstream(group / "cpu.max") >> time >> period;
    std::ifstream(group / "cpu.cfs_quota_us") >> time;
    std::ifstream(group / "cpu.cfs_period_us") >> period;
    return time > 0 && period > 0 ? time / period : unlimited;
}

// cgroups(7): the minimum over the process's own group and all groups above it. A container may see
// a path that does not exist inside it: its own group is then the topmost one.
double quota() {
    double min = unlimited;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const bool version_1 =
            line.contains(":cpu:") || line.contains(":cpu,") || line.contains(",cpu:");
        if (!version_1 && !line.starts_with("0::")) continue;
        std::filesystem::path group = version_1 ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup";
        for (group += line.substr(line.find('/')); group != "/sys/fs"; group = group.parent_path())
            min = std::min(min, quota_of(group));
    }
    return min;
}

}  // namespace

unsigned usable_cores() {
    const double cores = count_of(allowed_cores());
    return static_cast<unsigned>(std::min(cores, std::ceil(quota())));
}

bool has_core_for_each(unsigned threads) {
    const unsigned cores = count_of(allowed_cores());
    return threads == cores && quota() >= cores;
}

// sched_setaffinity(2), limited to cores of the process's own set.
void pin_to_core(unsigned index) {
    const cpu_set_t allowed = allowed_cores();
    unsigned skip = index % count_of(allowed);
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
