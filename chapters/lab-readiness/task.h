#pragma once

#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <span>
#include <system_error>
#include <vector>

// epoll(7) of Linux, else kqueue(2) of BSD and macOS; or that of the preset kqueue.
#if !defined(__linux__) || defined(HOTPATH_KQUEUE)
#include <sys/event.h>
#else
#include <sys/epoll.h>
#endif

namespace web {

// What a call found, if it was not interrupted by a signal; throws std::system_error if it failed.
inline std::size_t found(int count, const char* call) {
    if (count < 0 && errno != EINTR) {
        throw std::system_error(errno, std::generic_category(), call);
    }
    return static_cast<std::size_t>(std::max(count, 0));
}

/// Tells which of many sockets can be read, by asking each. What is said here holds for all of the
/// classes below: they are for one thread, and the sockets stay their owner's.
class BusyPolling {
public:
    /// An open socket that is not watched yet. Throws std::system_error or std::bad_alloc if it
    /// cannot be watched.
    void add(int fd) { watched_.push_back(fd); }

    /// A socket that is watched, before it is closed.
    void remove(int fd) noexcept { std::erase(watched_, fd); }

    /// Waits so many milliseconds, 0 or more, for a socket on which recv(2) would not wait: it has
    /// data, its peer has ended, or it failed. Each is told once a call, and again by the next as
    /// long as that is so; of very many the rest comes with the next. None if the time is over, or
    /// a signal came. Valid until the next call. Throws std::system_error if the system refuses.
    std::span<const int> wait(std::chrono::milliseconds timeout) {
        const auto end = std::chrono::steady_clock::now() + timeout;
        do {
            ready_.clear();
            std::ranges::copy_if(watched_, std::back_inserter(ready_), is_readable);
        } while (ready_.empty() && std::chrono::steady_clock::now() < end);
        return ready_;
    }

private:
    // recv(2): with MSG_PEEK what there is stays there.
    static bool is_readable(int fd) {
        char byte = 0;
        return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EWOULDBLOCK;
    }

    std::vector<int> watched_;
    std::vector<int> ready_;
};

/// The same by select(2).
class Select {
public:
    Select() noexcept { FD_ZERO(&watched_); }

    /// As above. Throws std::system_error with EINVAL if the number has no place in an fd_set:
    /// FD_SET with it "will result in undefined behavior", select(2), and writes behind the set.
    void add(int fd) {
        if (fd < 0 || fd >= static_cast<int>(FD_SETSIZE)) {
            throw std::system_error(EINVAL, std::generic_category(), "FD_SET");
        }
        FD_SET(fd, &watched_);
        end_ = std::max(end_, fd + 1);
    }

    void remove(int fd) noexcept { FD_CLR(fd, &watched_); }

    std::span<const int> wait(std::chrono::milliseconds timeout) {
        ready_.clear();
        fd_set readable = watched_;  // the call leaves in it those that are ready
        timeval limit = to_timeval(timeout);
        const std::size_t count =
            found(::select(end_, &readable, nullptr, nullptr, &limit), "select");
        for (int fd = 0; ready_.size() < count; ++fd) {
            if (FD_ISSET(fd, &readable)) {
                ready_.push_back(fd);
            }
        }
        return ready_;
    }

private:
    static timeval to_timeval(std::chrono::milliseconds time) {
        timeval converted{};
        converted.tv_sec = static_cast<decltype(converted.tv_sec)>(time.count() / 1000);
        converted.tv_usec = static_cast<decltype(converted.tv_usec)>(time.count() % 1000 * 1000);
        return converted;
    }

    fd_set watched_;
    int end_ = 0;  // the highest that was ever watched, and one
    std::vector<int> ready_;
};

// TODO(lab-readiness): the same by poll(2), which takes any number
using Poll = BusyPolling;

// TODO(lab-readiness): the same by epoll(7) or kqueue(2), which remember what is watched
using Poller = BusyPolling;

}  // namespace web
