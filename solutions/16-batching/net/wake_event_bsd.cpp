#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "wake_event.h"

namespace web {

WakeEvent::WakeEvent() {
    int ends[2];
    if (::pipe(ends) < 0) throw std::system_error(errno, std::generic_category(), "pipe");
    reader_ = Fd(ends[0]);
    writer_ = Fd(ends[1]);
    for (const int end : ends) {
        ::fcntl(end, F_SETFD, FD_CLOEXEC);
        ::fcntl(end, F_SETFL, O_NONBLOCK);
    }
}

// write(2) is async-signal-safe. It fails only if the pipe is full, and thus signalled already.
void WakeEvent::signal() const {
    const int saved = errno;
    const char byte = 0;
    static_cast<void>(!::write(writer_.number(), &byte, sizeof byte));
    errno = saved;
}

bool WakeEvent::clear() const {
    char bytes[64];
    return ::read(reader_.number(), bytes, sizeof bytes) > 0;
}

}  // namespace web
