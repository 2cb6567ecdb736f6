#pragma once

namespace web {

/// What this thread has freed goes back to the system, if the allocator keeps it until then.
void purge_free_memory();

}  // namespace web
