#pragma once

#include <thread>

namespace web {

inline constexpr int pauses = 64;

#if defined(__x86_64__)
/// Tells the processor that a loop waits, so that it runs it without haste.
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

/// Returns when ready() is true. Whoever is to make it so may need this very processor, so after
/// some short pauses it is offered before each time that ready() is asked again.
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
