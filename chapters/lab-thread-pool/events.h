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

// epoll(7) of Linux, else kqueue(2) of BSD and macOS; or that of the preset kqueue.
#if !defined(__linux__) || defined(HOTPATH_KQUEUE)
#include <sys/event.h>
#else
#include <sys/epoll.h>
#include <sys/eventfd.h>
#endif

namespace web {

/// Who asks and is answered: a socket on which no call waits, closed by the destructor.
class Client {
public:
    virtual ~Client() = default;

    virtual int fd() const = 0;

    /// Receives all there is and answers it. False if the client has ended: then this is not called
    /// again. For one thread at a time.
    virtual bool serve() noexcept = 0;

    /// A guard's. 0 if nobody serves the client, nor is about to.
    std::atomic<unsigned> news = 0;
};

/// How often a client's news are told.
enum class Trigger {
    level,    // at every wait, as long as there is something to receive: level-triggered
    edge,     // when something has come: edge-triggered
    oneshot,  // likewise, and then no more until asked again()
};

// What a call of the system returned; throws if it failed otherwise than by a signal.
inline int checked(int result, const char* call) {
    if (result < 0 && errno != EINTR) {
        throw std::system_error(errno, std::generic_category(), call);
    }
    return result;
}

inline constexpr std::size_t max_events = 256;

#if !defined(__linux__) || defined(HOTPATH_KQUEUE)

/// Tells which of many clients have something to say, or have ended. For any thread. Functions that
/// are not noexcept throw std::system_error if the system refuses.
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

    /// Whoever was told once. If there is something to receive already, it is told.
    void rearm(Client& client) noexcept {
        apply(EVFILT_READ, client.fd(), EV_ENABLE | EV_DISPATCH, 0, &client);
    }

    /// A wait() that begins later does not tell of it.
    void remove(Client& client) noexcept { apply(EVFILT_READ, client.fd(), EV_DELETE); }

    /// Waits for news, of as many as there is room for. None if wake() was called or a signal came.
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

    /// The wait() that has begun, or else the next, returns.
    void wake() noexcept { apply(EVFILT_USER, 0, 0, NOTE_TRIGGER); }

private:
    // Behind this the destructor closes what was opened, even if the other constructor throws.
    explicit Events(int queue) : queue_(queue) {}

    using Event = struct kevent;
    using Filter = decltype(Event::filter);  // systems differ
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

/// Tells which of many clients have something to say, or have ended. For any thread. Functions that
/// are not noexcept throw std::system_error if the system refuses.
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

    /// Whoever was told once. If there is something to receive already, it is told.
    void rearm(Client& client) noexcept {
        apply(EPOLL_CTL_MOD, client.fd(), EPOLLIN | EPOLLONESHOT, &client);
    }

    /// A wait() that begins later does not tell of it.
    void remove(Client& client) noexcept { apply(EPOLL_CTL_DEL, client.fd(), 0, nullptr); }

    /// Waits for news, of as many as there is room for. None if wake() was called or a signal came.
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

    /// The wait() that has begun, or else the next, returns.
    void wake() noexcept { ::eventfd_write(waker_, 1); }

private:
    // Behind this the destructor closes what was opened, even if the other constructor throws.
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
