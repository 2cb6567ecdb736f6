#include "filter_ops.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace hotpath {
namespace {

// tcp_info counts clients that wait to be accepted as unacknowledged. For a listener of another
// kind we know only that there is at least one.
std::int64_t waiting_clients(int listener) {
    tcp_info info{};
    socklen_t size = sizeof info;
    const bool known = ::getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
    return known ? info.tcpi_unacked : 1;
}

// tcp(7): a listener cannot be asked for the number of bytes that can be read.
std::int64_t readable(int fd) {
    int bytes = 0;
    if (::ioctl(fd, FIONREAD, &bytes) == 0) return bytes;
    return waiting_clients(fd);
}

std::int64_t writable(int fd) {
    int size = 0;
    int used = 0;
    socklen_t length = sizeof size;
    if (::getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, &length) == 0) {
        ::ioctl(fd, SIOCOUTQ, &used);
    } else {
        size = ::fcntl(fd, F_GETPIPE_SZ);
        ::ioctl(fd, FIONREAD, &used);
    }
    return std::max(size - used, 0);
}

// "Returns the socket error (if any) in fflags." A pipe has no such error.
void report_end(Note& note, std::uint32_t ready, struct kevent& event) {
    socklen_t length = sizeof note.error;
    if ((ready & EPOLLERR) != 0 && note.error == 0) {
        ::getsockopt(note.source(), SOL_SOCKET, SO_ERROR, &note.error, &length);
    }
    event.flags |= EV_EOF;
    event.fflags = static_cast<unsigned>(note.error);
}

int keep(Note&, const struct kevent&) {
    return 0;
}

bool report_read(Note& note, std::uint32_t ready, struct kevent& event) {
    event.data = readable(note.source());
    if ((ready & (EPOLLRDHUP | EPOLLHUP)) != 0) report_end(note, ready, event);
    return true;
}

bool report_write(Note& note, std::uint32_t ready, struct kevent& event) {
    event.data = writable(note.source());
    if ((ready & (EPOLLERR | EPOLLHUP)) != 0) report_end(note, ready, event);
    return true;
}

// Returns how many of a timer's units make a second, or 0 if `unit` is not a unit.
std::int64_t per_second(unsigned unit) {
    switch (unit) {
        case NOTE_SECONDS: return 1;
        case NOTE_NSECONDS: return std::nano::den;
        case NOTE_USECONDS: return std::micro::den;
        case NOTE_MSECONDS:
        case 0: return std::milli::den;
        default: return 0;
    }
}

// "A specified timeout of 0 will be silently adjusted to timeout after 1 of the time units." "This
// filter automatically sets the EV_CLEAR flag." Whether a timer repeats is decided when it is
// added.
int change_timer(Note& note, const struct kevent& change) {
    if ((change.flags & EV_ADD) == 0) return 0;
    const std::int64_t units = per_second(change.fflags);
    if (units == 0 || change.data < 0) return EINVAL;
    if (note.own.number() < 0) {
        note.own = Descriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
        if (note.own.number() < 0) return errno;
        note.event.flags |= EV_CLEAR;
    }
    const std::int64_t period = std::max<std::int64_t>(change.data, 1);
    itimerspec timer{};
    timer.it_value = {period / units, period % units * (std::nano::den / units)};
    if ((note.event.flags & EV_ONESHOT) == 0) timer.it_interval = timer.it_value;
    return ::timerfd_settime(note.own.number(), 0, &timer, nullptr) == 0 ? 0 : errno;
}

// "On return, data contains the number of times the timeout has expired", which timerfd(2) counts.
bool report_timer(Note& note, std::uint32_t, struct kevent& event) {
    return ::read(note.own.number(), &event.data, sizeof event.data) == sizeof event.data;
}

unsigned combine(unsigned old, unsigned change) {
    switch (change & NOTE_FFCTRLMASK) {
        case NOTE_FFAND: old &= change; break;
        case NOTE_FFOR: old |= change; break;
        case NOTE_FFCOPY: old = change; break;
        default: break;
    }
    return old & NOTE_FFLAGSMASK;
}

// NOTE_TRIGGER takes effect only in a later change than the one that adds the event, and EV_CLEAR
// there resets the event, as in FreeBSD's filt_userattach() and filt_usertouch().
int change_user(Note& note, const struct kevent& change) {
    if (note.own.number() < 0) {
        note.event.fflags = change.fflags & NOTE_FFLAGSMASK;
        note.own = Descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
        return note.own.number() < 0 ? errno : 0;
    }
    eventfd_t triggers = 0;
    note.event.fflags = combine(note.event.fflags, change.fflags);
    note.event.data = change.data;
    if ((change.fflags & NOTE_TRIGGER) != 0) ::eventfd_write(note.own.number(), 1);
    if ((change.flags & EV_CLEAR) != 0) ::eventfd_read(note.own.number(), &triggers);
    return 0;
}

bool report_user(Note& note, std::uint32_t, struct kevent& event) {
    event.fflags = note.event.fflags;
    event.data = note.event.data;
    eventfd_t triggers = 0;
    if ((note.event.flags & EV_CLEAR) != 0) ::eventfd_read(note.own.number(), &triggers);
    return true;
}

}  // namespace

std::optional<File> file_of(int fd) {
    struct stat status;
    if (::fstat(fd, &status) != 0) return std::nullopt;
    return File{status.st_dev, status.st_ino};
}

const std::array<FilterOps, filter_count> filter_table{{
    {EVFILT_READ, true, EPOLLIN | EPOLLRDHUP, keep, report_read},
    {EVFILT_WRITE, true, EPOLLOUT, keep, report_write},
    {EVFILT_TIMER, false, EPOLLIN, change_timer, report_timer},
    {EVFILT_USER, false, EPOLLIN, change_user, report_user},
}};

}  // namespace hotpath
