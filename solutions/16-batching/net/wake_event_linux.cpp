#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "wake_event.h"

namespace web {

WakeEvent::WakeEvent() : reader_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (reader_.number() < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

// write(2) is async-signal-safe: signal-safety(7). It fails only if the event is signalled already.
void WakeEvent::signal() const {
    const int saved = errno;
    const std::uint64_t one = 1;
    static_cast<void>(!::write(reader_.number(), &one, sizeof one));
    errno = saved;
}

bool WakeEvent::clear() const {
    std::uint64_t count;
    return ::read(reader_.number(), &count, sizeof count) > 0;
}

}  // namespace web
