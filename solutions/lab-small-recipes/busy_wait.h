#pragma once

#include <thread>

namespace web {

inline constexpr int pauses = 64;

#if defined(__x86_64__)
/// Hints to the processor that this is a spin loop, so that it uses fewer resources.
inline void pause() noexcept {
    __builtin_ia32_pause();
}
#elif defined(__aarch64__)
inline void pause() noexcept {
    asm volatile("yield");
}
#else
inline void pause() noexcept {}
#endif

/// Returns when ready() is true. The thread that makes it true may need this very processor, so
/// after some short pauses the loop yields before each further check.
template <class Ready>
void busy_wait(Ready ready) {
    for (int paused = 0; paused < pauses; ++paused) {
        if (ready()) {
            return;
        }
        pause();
    }
    while (!ready()) {
        std::this_thread::yield();
    }
}

}  // namespace web
