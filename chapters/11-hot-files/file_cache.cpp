// TODO(11): what file_cache.h declares.
// - open(): what is known and was looked at in this second is the answer, and is marked as asked
// for
//   again; anything else is looked for
// - look(): what Files says now. If it is what was known, that stays, with its bytes or descriptor;
//   else it is forgotten, and what was found is kept if it may be
// - is_cacheable(): what was changed before settled_before_, or that there is none; not what could
// not be
//   found out
// - weight_of(): its bytes if it is to be in memory, or descriptor_weight_, and about what the
// entry
//   takes itself. That weight is such that all descriptors together are no more than the bounds say
// - keep(): memory first, for taking it may empty the cache; then room, by SIEVE; then the entry
// - on_new_second(): counts, says what has settled, and forgets who was not asked for for a while
#include "file_cache.h"
