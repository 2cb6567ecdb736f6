#include "allocator.h"

namespace web {

// Other allocators decide by themselves what to keep.
void purge_free_memory() {}

}  // namespace web
