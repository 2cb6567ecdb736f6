#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

// epoll(7) on Linux, otherwise kqueue(2) of BSD and macOS, or that of the preset kqueue.
#if !defined(__linux__) || defined(HOTPATH_KQUEUE)
#include <sys/event.h>
#else
#include <sys/epoll.h>
#include <sys/eventfd.h>
#endif

namespace web {

/// Sends requests and is answered: a socket on which no call blocks, closed by the destructor.
class Client {
public:
    virtual ~Client() = default;

    virtual int fd() const = 0;

    /// Receives everything available and answers it. Returns false if the client has ended; then
    /// this is not called again. Called by one thread at a time.
    virtual bool serve() noexcept = 0;

    /// Used by the guard. 0 if no thread serves the client or is about to.
    std::atomic<unsigned> news = 0;
};

/// How often a client's events are reported.
enum class Trigger {
    level,    // by every wait, as long as there is something to receive: level-triggered
    edge,     // when something has arrived: edge-triggered
    oneshot,  // likewise, and then no more until again() is called
};

// Returns the result of a system call. Throws if it failed for another reason than a signal.
inline int checked(int result, const char* call) {
    if (result < 0 && errno != EINTR) {
        throw std::system_error(errno, std::generic_category(), call);
    }
    return result;
}

inline constexpr std::size_t max_events = 256;

#if !defined(__linux__) || defined(HOTPATH_KQUEUE)

/// Finds out which of many clients have sent something or have ended. Thread-safe. Functions that
/// are not noexcept throw std::system_error if the system call fails.
class Events {
public:
    Events() : Events(checked(::kqueue(), "kqueue")) {
        checked(apply(EVFILT_USER, 0, EV_ADD | EV_CLEAR), "kevent");
    }

    ~Events() { ::close(queue_); }

    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;

    void add(Client& client, Trigger trigger) {
        checked(
            apply(EVFILT_READ, client.fd(), static_cast<Flags>(EV_ADD | flag(trigger)), 0, &client),
            "kevent");
    }

    /// For a client that was reported once. If there is already something to receive, it is
    /// reported.
    void rearm(Client& client) noexcept {
        apply(EVFILT_READ, client.fd(), EV_ENABLE | EV_DISPATCH, 0, &client);
    }

    /// A wait() that begins later does not report the client.
    void remove(Client& client) noexcept { apply(EVFILT_READ, client.fd(), EV_DELETE); }

    /// Waits for events of as many clients as fit into `room`. Empty if wake() was called or a
    /// signal came.
    std::span<Client*> wait(std::span<Client*> ready) {
        std::array<Event, max_events> events;
        const auto limit = static_cast<int>(std::min(ready.size(), max_events));
        const int count =
            checked(::kevent(queue_, nullptr, 0, events.data(), limit, nullptr), "kevent");
        std::size_t ready_count = 0;
        for (int i = 0; i < count; ++i) {
            auto* const client = static_cast<Client*>(events[static_cast<std::size_t>(i)].udata);
            if (client) ready[ready_count++] = client;
        }
        return ready.first(ready_count);
    }

    /// Makes the current wait() return, or else the next one.
    void wake() noexcept { apply(EVFILT_USER, 0, 0, NOTE_TRIGGER); }

private:
    // Once this constructor has finished, the destructor closes what was opened, even if the other
    // constructor throws.
    explicit Events(int queue) : queue_(queue) {}

    using Event = struct kevent;
    using Filter = decltype(Event::filter);  // the type differs between systems
    using Flags = decltype(Event::flags);

    static int flag(Trigger trigger) {
        return trigger == Trigger::edge ? EV_CLEAR : trigger == Trigger::oneshot ? EV_DISPATCH : 0;
    }

    int apply(Filter filter, int id, Flags flags, unsigned details = 0,
              void* data = nullptr) noexcept {
        Event event;
        EV_SET(&event, static_cast<unsigned>(id), filter, flags, details, 0, data);
        return ::kevent(queue_, &event, 1, nullptr, 0, nullptr);
    }

    int queue_;
};

#else

/// Finds out which of many clients have sent something or have ended. Thread-safe. Functions that
/// are not noexcept throw std::system_error if the system call fails.
class Events {
public:
    Events()
        : Events(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1"),
                 ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        checked(waker_, "eventfd");
        checked(apply(EPOLL_CTL_ADD, waker_, EPOLLIN | EPOLLET, nullptr), "epoll_ctl");
    }

    ~Events() {
        ::close(waker_);
        ::close(queue_);
    }

    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;

    void add(Client& client, Trigger trigger) {
        checked(apply(EPOLL_CTL_ADD, client.fd(), EPOLLIN | flag(trigger), &client), "epoll_ctl");
    }

    /// For a client that was reported once. If there is already something to receive, it is
    /// reported.
    void rearm(Client& client) noexcept {
        apply(EPOLL_CTL_MOD, client.fd(), EPOLLIN | EPOLLONESHOT, &client);
    }

    /// A wait() that begins later does not report the client.
    void remove(Client& client) noexcept { apply(EPOLL_CTL_DEL, client.fd(), 0, nullptr); }

    /// Waits for events of as many clients as fit into `room`. Empty if wake() was called or a
    /// signal came.
    std::span<Client*> wait(std::span<Client*> ready) {
        std::array<epoll_event, max_events> events;
        const auto limit = static_cast<int>(std::min(ready.size(), max_events));
        const int count = checked(::epoll_wait(queue_, events.data(), limit, -1), "epoll_wait");
        std::size_t ready_count = 0;
        for (int i = 0; i < count; ++i) {
            auto* const client = static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr);
            if (client) ready[ready_count++] = client;
        }
        return ready.first(ready_count);
    }

    /// Makes the current wait() return, or else the next one.
    void wake() noexcept { ::eventfd_write(waker_, 1); }

private:
    // Once this constructor has finished, the destructor closes what was opened, even if the other
    // constructor throws.
    Events(int queue, int waker) : queue_(queue), waker_(waker) {}

    static std::uint32_t flag(Trigger trigger) {
        return trigger == Trigger::edge ? EPOLLET : trigger == Trigger::oneshot ? EPOLLONESHOT : 0;
    }

    int apply(int operation, int fd, std::uint32_t events, Client* data) noexcept {
        epoll_event event{};
        event.events = events;
        event.data.ptr = data;
        return ::epoll_ctl(queue_, operation, fd, &event);
    }

    int queue_;
    int waker_;
};

#endif

}  // namespace web
