#pragma once

namespace web {

/// Returns memory that this thread has freed to the system, if the allocator has kept it.
void purge_free_memory();

}  // namespace web
