#pragma once

namespace web {

/// Cores that the process may use: a cpuset or taskset(1) may allow fewer than there are. A quota
/// of their time, as `docker run --cpus` sets, is not seen.
unsigned usable_cores();

/// Binds the calling thread to one of those cores, counted from `index` and around again. Where the
/// system has no such call, nothing happens.
void stay_on_core(unsigned index);

}  // namespace web
