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

// epoll(7) on Linux, otherwise kqueue(2) of BSD and macOS, or that of the preset kqueue.
#if !defined(__linux__) || defined(HOTPATH_KQUEUE)
#include <sys/event.h>
#else
#include <sys/epoll.h>
#endif

namespace web {

// The number that a call returned, or 0 if a signal interrupted it. Throws std::system_error if it
// failed.
inline std::size_t found(int count, const char* call) {
    if (count < 0 && errno != EINTR) {
        throw std::system_error(errno, std::generic_category(), call);
    }
    return static_cast<std::size_t>(std::max(count, 0));
}

/// Finds out which of many sockets can be read, by trying each. The comments here hold for all of
/// the classes below: they are for one thread, and do not own the sockets.
class BusyPolling {
public:
    /// Takes an open socket that is not watched yet. Throws std::system_error or std::bad_alloc if
    /// it cannot be watched.
    void add(int fd) { watched_.push_back(fd); }

    /// Takes a socket that is watched. Call it before the socket is closed.
    void remove(int fd) noexcept { std::erase(watched_, fd); }

    /// Waits at most `timeout`, 0 or more milliseconds, for a socket on which recv(2) would not
    /// block: it has data, its peer has finished, or it failed. Each is returned at most once per
    /// call, and again by the next call while that is still so. If there are very many, the others
    /// come with the next calls. Empty after the timeout or a signal. Valid until the next call.
    /// Throws std::system_error.
    std::span<const int> wait(std::chrono::milliseconds timeout) {
        const auto end = std::chrono::steady_clock::now() + timeout;
        do {
            ready_.clear();
            std::ranges::copy_if(watched_, std::back_inserter(ready_), is_readable);
        } while (ready_.empty() && std::chrono::steady_clock::now() < end);
        return ready_;
    }

private:
    // recv(2): with MSG_PEEK the data stays in the socket.
    static bool is_readable(int fd) {
        char byte = 0;
        return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EWOULDBLOCK;
    }

    std::vector<int> watched_;
    std::vector<int> ready_;
};

/// The same with select(2).
class Select {
public:
    Select() noexcept { FD_ZERO(&watched_); }

    /// As above. Throws std::system_error with EINVAL if the number does not fit into an fd_set:
    /// FD_SET with it "will result in undefined behavior", select(2), and writes beyond the set.
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
        fd_set readable = watched_;  // the call leaves only the ready ones in it
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
    int end_ = 0;  // the highest number that was ever watched, plus one
    std::vector<int> ready_;
};

// TODO(lab-readiness): the same with poll(2), which accepts any descriptor number
using Poll = BusyPolling;

// TODO(lab-readiness): the same with epoll(7) or kqueue(2), which remember what is watched
using Poller = BusyPolling;

}  // namespace web
