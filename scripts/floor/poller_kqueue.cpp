#include <sys/types.h>

#include <sys/event.h>
#include <sys/time.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "poller.h"

namespace web {
namespace {

int check(int result, const char* call) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), call);
    return result;
}

void control(int queue, int operation, int descriptor, int filter) {
    struct kevent change;
    EV_SET(&change, descriptor, filter, operation, 0, 0, 0);
    check(::kevent(queue, &change, 1, nullptr, 0, nullptr), "kevent");
}

}  // namespace

// A signal that is ignored still makes its filter ready (kqueue(2), EVFILT_SIGNAL).
Poller::Poller() : queue_(check(::kqueue(), "kqueue")) {
    for (const int number : {SIGINT, SIGTERM}) {
        std::signal(number, SIG_IGN);
        control(queue_, EV_ADD, number, EVFILT_SIGNAL);
    }
}

void Poller::add(int descriptor) {
    control(queue_, EV_ADD, descriptor, EVFILT_READ);
}

void Poller::change(int descriptor, Interest interest) {
    const bool input = interest == Interest::input;
    control(queue_, EV_DELETE, descriptor, input ? EVFILT_WRITE : EVFILT_READ);
    control(queue_, EV_ADD, descriptor, input ? EVFILT_READ : EVFILT_WRITE);
}

void Poller::remove(int descriptor) {
    control(queue_, EV_DELETE, descriptor, EVFILT_READ);
}

std::span<const int> Poller::wait() {
    struct kevent events[batch];
    int count;
    do {  // repeated after SIGSTOP and SIGCONT (signal(7))
        count = ::kevent(queue_, nullptr, 0, events, batch, nullptr);
    } while (count < 0 && errno == EINTR);
    check(count, "kevent");
    for (int i = 0; i < count; ++i) {
        if (events[i].filter == EVFILT_SIGNAL) return {};
        ready_[i] = static_cast<int>(events[i].ident);
    }
    return {ready_, static_cast<std::size_t>(count)};
}

}  // namespace web
