#include <sys/types.h>
// sys/event.h needs sys/types.h to be included first.
#include <sys/event.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "poller.h"

namespace web {
namespace {

using Event = struct kevent;

Event to_event(int fd, Interest interest, unsigned short flags) {
    Event event;
    EV_SET(&event, static_cast<unsigned>(fd),
           interest == Interest::receive ? EVFILT_READ : EVFILT_WRITE, flags, 0, 0, nullptr);
    return event;
}

timespec to_timespec(std::chrono::milliseconds time) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    const std::chrono::nanoseconds rest = time - seconds;
    return {static_cast<time_t>(seconds.count()), static_cast<long>(rest.count())};
}

// An error for a descriptor that was closed in the meantime is ignored. Its number may already
// belong to another worker's client, which this queue does not have: ENOENT.
bool is_watch_failure(const Event& event) {
    return event.data != EBADF && event.data != ENOENT;
}

Interest other(Interest interest) {
    return interest == Interest::receive ? Interest::send : Interest::receive;
}

}  // namespace

Poller::Poller() : queue_(::kqueue()) {
    if (queue_.number() < 0) throw std::system_error(errno, std::generic_category(), "kqueue");
    changes_.reserve(2 * max_changes);  // one event per filter
    failed_.reserve(2 * max_changes);
}

// Both filters are added once; afterwards they are only enabled and disabled. The next wait passes
// all changes of this iteration to the kernel in one call.
void Poller::add(int fd, Interest interest) {
    changes_.push_back({fd, interest, EV_ADD});
    changes_.push_back({fd, other(interest), EV_ADD | EV_DISABLE});
}

void Poller::change(int fd, Interest interest) {
    changes_.push_back({fd, other(interest), EV_DISABLE});
    changes_.push_back({fd, interest, EV_ENABLE});
}

void Poller::remove(int fd, Interest interest) {
    changes_.push_back({fd, interest, EV_DELETE});
    changes_.push_back({fd, other(interest), EV_DELETE});
}

// kevent(2) applies the changes in order, then looks for events. "If an error occurs … and there is
// enough room in the eventlist", the error is returned as an event, otherwise the remaining changes
// are skipped. Therefore no call passes more changes than the event list has entries. All calls but
// the last only apply changes: descriptors that were ready then still are in the last call.
std::span<const int> Poller::wait(std::chrono::milliseconds timeout) {
    std::array<Event, batch> changes;
    std::array<Event, batch> events;
    std::span<const Change> left = changes_;
    std::size_t ready = 0;
    failed_.clear();
    do {
        // The count is an int, but a size_t on NetBSD. An unsigned short converts to both.
        const auto some = static_cast<unsigned short>(std::min(left.size(), batch));
        std::ranges::transform(left.first(some), changes.begin(), [](const Change& change) {
            return to_event(change.fd, change.interest, change.flags);
        });
        left = left.subspan(some);
        const auto time = left.empty() && failed_.empty() ? timeout : timeout.zero();
        const timespec limit = to_timespec(time);
        const int count = ::kevent(queue_.number(), changes.data(), some, events.data(), batch,
                                   time == forever ? nullptr : &limit);
        ready = 0;
        for (int i = 0; i < count; ++i) {
            const Event& event = events[static_cast<std::size_t>(i)];
            if ((event.flags & EV_ERROR) == 0) {
                ready_[ready++] = static_cast<int>(event.ident);
            } else if (is_watch_failure(event)) {
                failed_.push_back(static_cast<int>(event.ident));
            }
        }
    } while (!left.empty());
    changes_.clear();
    return {ready_.data(), ready};
}

}  // namespace web
