// TODO(11): what file_cache.h declares.
// - open(): an entry that was checked in this second is the answer, and is marked as asked for
//   again; anything else is opened with open_uncached()
// - open_uncached(): calls Files. If the result is the same as before, the entry stays, with its
//   bytes or descriptor; otherwise it is forgotten, and the new result is kept if it may be
// - is_cacheable(): true for files changed before settled_before_, and for missing files; false if
//   opening failed for another reason
// - weight_of(): its bytes if it is to be in memory, otherwise descriptor_weight_, plus about what
//   the entry itself takes. descriptor_weight_ is such that all descriptors together stay within
//   the bounds
// - insert(): read into memory first, because that may empty the cache; then make space, by SIEVE;
//   then add the entry
// - on_new_second(): counts, updates settled_before_, and forgets entries that were not asked for
//   for a while
#include "file_cache.h"
