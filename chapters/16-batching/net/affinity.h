#pragma once

namespace web {

/// The number of cores that the process may use: a cpuset or taskset(1) may allow fewer than the
/// machine has, and a quota, as set by `docker run --cpus`, may limit the time on them. Half a core
/// counts as one.
unsigned usable_cores();

/// Whether each of `threads` threads can have a core of the process's set to itself: there are as
/// many threads as cores, and no quota is smaller. Otherwise another process may be pinned to the
/// same cores by the same rule while others are idle. Must be called before a thread is pinned, as
/// those that it starts inherit its set. False on systems without such a call.
bool has_core_for_each(unsigned threads);

/// Binds the calling thread to one of the cores in its set: number `index`, modulo the size of the
/// set. Does nothing on systems without such a call.
void pin_to_core(unsigned index);

}  // namespace web
