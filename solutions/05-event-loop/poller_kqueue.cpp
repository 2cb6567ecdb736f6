#include <sys/types.h>
// sys/event.h needs sys/types.h to be included first.
#include <sys/event.h>
#include <sys/time.h>

#include <cerrno>
#include <system_error>

#include "poller.h"

namespace web {
namespace {

using Event = struct kevent;

Event change_of(int fd, unsigned short flags, Interest interest) {
    Event change;
    EV_SET(&change, static_cast<unsigned>(fd),
           interest == Interest::receive ? EVFILT_READ : EVFILT_WRITE, flags, 0, 0, nullptr);
    return change;
}

bool submit(const Fd& queue, std::span<const Event> changes) {
    // The count is an int, but a size_t on NetBSD. An unsigned short converts to both.
    const auto count = static_cast<unsigned short>(changes.size());
    return ::kevent(queue.number(), changes.data(), count, nullptr, 0, nullptr) == 0;
}

timespec to_timespec(std::chrono::milliseconds time) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    const std::chrono::nanoseconds rest = time - seconds;
    return {static_cast<time_t>(seconds.count()), static_cast<long>(rest.count())};
}

Interest other(Interest interest) {
    return interest == Interest::receive ? Interest::send : Interest::receive;
}

}  // namespace

Poller::Poller() : queue_(::kqueue()) {
    if (queue_.number() < 0) throw std::system_error(errno, std::generic_category(), "kqueue");
    failed_.reserve(max_changes);
}

void Poller::add(int fd, Interest interest) {
    const std::array changes{change_of(fd, EV_ADD, interest)};
    if (!submit(queue_, changes)) failed_.push_back(fd);
}

void Poller::change(int fd, Interest interest) {
    const std::array changes{change_of(fd, EV_DELETE, other(interest)),
                             change_of(fd, EV_ADD, interest)};
    if (!submit(queue_, changes)) failed_.push_back(fd);
}

void Poller::remove(int fd, Interest interest) {
    const std::array changes{change_of(fd, EV_DELETE, interest)};
    submit(queue_, changes);
}

std::span<const int> Poller::wait(std::chrono::milliseconds timeout) {
    failed_.clear();
    std::array<Event, batch> events;
    const timespec limit = to_timespec(timeout);
    const int count = ::kevent(queue_.number(), nullptr, 0, events.data(), batch,
                               timeout == forever ? nullptr : &limit);
    if (count <= 0) return {};
    const auto ready = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < ready; ++i)
        ready_[i] = static_cast<int>(events[i].ident);
    return {ready_.data(), ready};
}

}  // namespace web
