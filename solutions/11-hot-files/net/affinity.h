#pragma once

namespace web {

/// The number of cores that the process may use: a cpuset or taskset(1) may allow fewer than the
/// machine has, and a quota, as set by `docker run --cpus`, may limit the time on them. Half a core
/// counts as one.
unsigned usable_cores();

/// Binds the calling thread to one of the cores in its set: number `index`, modulo the size of the
/// set. Does nothing on systems without such a call.
void pin_to_core(unsigned index);

}  // namespace web
