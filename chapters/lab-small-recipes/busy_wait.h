#pragma once  // TODO(lab-small-recipes): give the processor away when it lasts

namespace web {

inline constexpr int pauses = 64;

/// Returns when ready() is true.
template <class Ready>
void busy_wait(Ready ready) {
    while (!ready()) {
    }
}

}  // namespace web
