#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

#include "poller.h"

namespace web {
namespace {

int check(int result, const char* call) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), call);
    return result;
}

int open_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    check(::sigprocmask(SIG_BLOCK, &signals, nullptr), "sigprocmask");
    return check(::signalfd(-1, &signals, SFD_CLOEXEC), "signalfd");
}

constexpr int a_signal = -1;

/// `name` is what a wait returns for the descriptor.
void control(int queue, int operation, int descriptor, std::uint32_t events, int name) {
    epoll_event event{};
    event.events = events;
    event.data.fd = name;
    check(::epoll_ctl(queue, operation, descriptor, &event), "epoll_ctl");
}

}  // namespace

Poller::Poller() : queue_(check(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
    control(queue_, EPOLL_CTL_ADD, open_signals(), EPOLLIN, a_signal);
}

void Poller::add(int descriptor) {
    control(queue_, EPOLL_CTL_ADD, descriptor, EPOLLIN, descriptor);
}

void Poller::change(int descriptor, Interest interest) {
    const bool input = interest == Interest::input;
    control(queue_, EPOLL_CTL_MOD, descriptor, input ? EPOLLIN : EPOLLOUT, descriptor);
}

void Poller::remove(int descriptor) {
    control(queue_, EPOLL_CTL_DEL, descriptor, 0, descriptor);
}

std::span<const int> Poller::wait() {
    epoll_event events[batch];
    int count;
    do {  // repeated after SIGSTOP and SIGCONT (signal(7))
        count = ::epoll_wait(queue_, events, batch, -1);
    } while (count < 0 && errno == EINTR);
    check(count, "epoll_wait");
    for (int i = 0; i < count; ++i) {
        if (events[i].data.fd == a_signal) return {};
        ready_[i] = events[i].data.fd;
    }
    return {ready_, static_cast<std::size_t>(count)};
}

}  // namespace web
