// TODO(11.1): what file_cache.h declares, but without bounds, without bytes in memory and without
// missing files. weight_of(), evict() and release_caches() come later.
// - open(): an entry that was checked in this second is the answer; anything else is opened with
//   open_uncached()
// - open_uncached(): calls Files. If the result is the same as before, the entry stays, with its
//   descriptor; otherwise it is forgotten, and the new result is kept if it may be
// - is_cacheable(): true for files changed before settled_before_
// - insert(): keeps nothing if the bound is 0
// - on_new_second(): counts, and updates settled_before_
// TODO(11.2): insert(): read a file of at most max_in_memory bytes into memory.
// TODO(11.2): is_cacheable(): also true for missing files; false if opening failed for another
// reason.
// TODO(11.3): open(): mark an entry that is the answer as visited.
// TODO(11.3): weight_of(): a file's bytes if it is to be in memory, otherwise descriptor_weight_,
// plus about what the entry itself takes. descriptor_weight_ is such that all descriptors together
// stay within the bounds.
// TODO(11.3): insert(): make space by SIEVE, then add the entry; keep nothing that is too large.
// TODO(11.4): release_caches(), also if a file cannot be opened for want of descriptors. It may be
// called whenever memory is allocated, so insert() allocates first, then changes the cache.
// TODO(11.4): evict(): every five seconds, forget the entries that were not asked for.
#include "file_cache.h"
