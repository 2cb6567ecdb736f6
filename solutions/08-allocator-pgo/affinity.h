#pragma once

namespace web {

/// How many cores the process may keep busy: a cpuset or taskset(1) may allow fewer than there are,
/// and a quota, as `docker run --cpus` sets, less of their time. Half a core is one.
unsigned usable_cores();

/// Binds the calling thread to one of the cores in its set, counted from `index` and around again.
/// Where the system has no such call, nothing happens.
void pin_to_core(unsigned index);

}  // namespace web
