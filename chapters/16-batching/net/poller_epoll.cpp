#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include "poller.h"

namespace web {
namespace {

// epoll_wait(2) takes an int.
constexpr std::chrono::milliseconds max_timeout{std::numeric_limits<int>::max()};

bool control(const Fd& queue, int operation, int fd, Interest interest) {
    epoll_event event{};
    event.events = interest == Interest::receive ? EPOLLIN : EPOLLOUT;
    event.data.fd = fd;
    return ::epoll_ctl(queue.number(), operation, fd, &event) == 0;
}

}  // namespace

Poller::Poller() : queue_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (queue_.number() < 0) {
        throw std::system_error(errno, std::generic_category(), "epoll_create1");
    }
    failed_.reserve(max_changes);
}

void Poller::add(int fd, Interest interest) {
    if (!control(queue_, EPOLL_CTL_ADD, fd, interest)) failed_.push_back(fd);
}

void Poller::change(int fd, Interest interest) {
    if (!control(queue_, EPOLL_CTL_MOD, fd, interest)) failed_.push_back(fd);
}

void Poller::remove(int fd, Interest interest) {
    control(queue_, EPOLL_CTL_DEL, fd, interest);
}

std::span<const int> Poller::wait(std::chrono::milliseconds timeout) {
    failed_.clear();
    std::array<epoll_event, batch> events;
    const auto limit = static_cast<int>(std::min(timeout, max_timeout).count());
    const int count = ::epoll_wait(queue_.number(), events.data(), batch, limit);
    if (count <= 0) return {};
    const auto ready = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < ready; ++i)
        ready_[i] = events[i].data.fd;
    return {ready_.data(), ready};
}

}  // namespace web
