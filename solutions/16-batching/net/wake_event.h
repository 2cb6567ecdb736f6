#pragma once

#include "fd.h"

namespace web {

/// Wakes every loop whose poller watches its descriptor. Once signalled, it stays readable until it
/// is cleared. Uses eventfd(2), or pipe(2) on systems without it.
class WakeEvent {
public:
    /// Throws std::system_error.
    WakeEvent();

    /// The descriptor to watch for Interest::receive.
    int fd() const { return reader_.number(); }

    /// May be called by any thread and by a signal handler.
    void signal() const;

    /// Clears the event. Returns false if it was not signalled, for example because another thread
    /// has cleared it first.
    bool clear() const;

private:
    Fd reader_;
    Fd writer_;  // not used by eventfd(2)
};

}  // namespace web
