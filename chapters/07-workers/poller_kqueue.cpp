#include <sys/types.h>
// sys/event.h needs the types before it.
#include <sys/event.h>
#include <sys/time.h>

#include <cerrno>
#include <system_error>

#include "poller.h"

namespace web {
namespace {

using Change = struct kevent;

Change control(int fd, unsigned short flags, Interest interest) {
    Change change;
    EV_SET(&change, static_cast<unsigned>(fd),
           interest == Interest::receive ? EVFILT_READ : EVFILT_WRITE, flags, 0, 0, nullptr);
    return change;
}

bool submit(const Fd& queue, std::span<const Change> changes) {
    // An int goes here, on NetBSD a size_t: a short fits both.
    const auto count = static_cast<unsigned short>(changes.size());
    return ::kevent(queue.number(), changes.data(), count, nullptr, 0, nullptr) == 0;
}

Interest other(Interest interest) {
    return interest == Interest::receive ? Interest::send : Interest::receive;
}

}  // namespace

Poller::Poller() : queue_(::kqueue()) {
    if (queue_.number() < 0) throw std::system_error(errno, std::generic_category(), "kqueue");
}

// TODO(7): only note it, here and in change() and remove(). wait() tells the kernel of all notes
// in the call that it makes anyway. Who cannot be watched is known only then: tell the worker.
// Both filters, once; afterwards they are only enabled and disabled.
bool Poller::add(int fd, Interest interest) {
    const std::array changes{control(fd, EV_ADD, interest),
                             control(fd, EV_ADD | EV_DISABLE, other(interest))};
    return submit(queue_, changes);
}

bool Poller::change(int fd, Interest interest) {
    const std::array changes{control(fd, EV_DISABLE, other(interest)),
                             control(fd, EV_ENABLE, interest)};
    return submit(queue_, changes);
}

void Poller::remove(int fd, Interest interest) {
    const std::array changes{control(fd, EV_DELETE, interest),
                             control(fd, EV_DELETE, other(interest))};
    submit(queue_, changes);
}

std::span<const int> Poller::wait(std::chrono::milliseconds timeout) {
    std::array<Change, batch> events;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
    const std::chrono::nanoseconds rest = timeout - seconds;
    const timespec limit{static_cast<time_t>(seconds.count()), static_cast<long>(rest.count())};
    const int count = ::kevent(queue_.number(), nullptr, 0, events.data(), batch, &limit);
    if (count <= 0) return {};
    const auto ready = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < ready; ++i)
        ready_[i] = static_cast<int>(events[i].ident);
    return {ready_.data(), ready};
}

}  // namespace web
