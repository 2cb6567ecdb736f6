#include <cstddef>
#include <string>

#include "allocator.h"

// jemalloc(3), TUNING: read when the program starts. Freed memory, large or small, is kept until
// purge_free_memory() is called, so the next body reuses pages that are already mapped.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "oversize_threshold:0,dirty_decay_ms:-1";

int mallctl(const char* name, void* old, std::size_t* old_size, void* value, std::size_t size);
}

namespace web {

void purge_free_memory() {
    unsigned arena = 0;
    std::size_t size = sizeof(arena);
    mallctl("thread.arena", &arena, &size, nullptr, 0);
    const std::string purge = "arena." + std::to_string(arena) + ".purge";
    mallctl(purge.c_str(), nullptr, nullptr, nullptr, 0);
}

}  // namespace web
