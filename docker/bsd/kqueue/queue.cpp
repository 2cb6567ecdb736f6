#include "queue.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace hotpath {
namespace {

// A timeout for epoll_wait(2). Rounded up, so that the last millisecond is not a busy loop.
int milliseconds_until(Deadline deadline) {
    if (!deadline) return -1;
    const auto left = *deadline - std::chrono::steady_clock::now();
    const std::int64_t limit = std::numeric_limits<int>::max();
    const std::int64_t count = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<int>(std::clamp<std::int64_t>(count, 0, limit));
}

}  // namespace

Queue::Queue(int number)
    : number_(number),
      filters_{{
          {filter_table[0], number, 0},
          {filter_table[1], number, 1},
          {filter_table[2], number, 2},
          {filter_table[3], number, 3},
      }} {}

// The first filter's set is registered only in this queue's epoll, so this changes nothing and
// succeeds only while that queue is open.
bool Queue::is_open() const {
    const std::lock_guard lock(mutex_);
    epoll_event same{};
    same.events = EPOLLIN;
    same.data.u32 = 0;
    return ::epoll_ctl(number_, EPOLL_CTL_MOD, filters_[0].set(), &same) == 0;
}

int Queue::apply(const struct kevent& change) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < filter_count; ++i) {
        if (filter_table[i].filter == change.filter) return filters_[i].apply(change);
    }
    return EINVAL;
}

// Another thread may have taken the events, or they may no longer be pending. Then the wait goes
// on.
int Queue::wait(std::span<struct kevent> events, Deadline deadline) {
    while (true) {
        std::array<epoll_event, filter_count> ready;
        const int limit = milliseconds_until(deadline);
        const int count = ::epoll_wait(number_, ready.data(), filter_count, limit);
        if (count < 0) return -1;
        const std::size_t filled = collect(events, {ready.data(), static_cast<std::size_t>(count)});
        if (filled > 0 || limit == 0) return static_cast<int>(filled);
    }
}

// The filter that fills the array comes last next time, so that no filter starves the others.
std::size_t Queue::collect(std::span<struct kevent> events, std::span<const epoll_event> ready) {
    const std::lock_guard lock(mutex_);
    std::size_t filled = 0;
    for (std::size_t i = 0, first = first_; i < filter_count && filled < events.size(); ++i) {
        const std::size_t index = (first + i) % filter_count;
        if (std::ranges::none_of(ready, [=](auto& set) { return set.data.u32 == index; })) continue;
        filled += filters_[index].collect(events.subspan(filled));
        first_ = (index + 1) % filter_count;
    }
    share_errors(events.first(filled));
    return filled;
}

// "Socket error handling is identical" in both filters, but Linux returns an error only once.
void Queue::share_errors(std::span<const struct kevent> events) {
    for (const struct kevent& event : events) {
        if ((event.flags & EV_EOF) == 0 || event.fflags == 0) continue;
        for (Filter& filter : filters_)
            filter.learn_error(event.ident, static_cast<int>(event.fflags));
    }
}

}  // namespace hotpath
