#include <sys/epoll.h>
#include <sys/event.h>

#include <cerrno>
#include <chrono>
#include <expected>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <system_error>
#include <unordered_map>

#include "descriptor.h"
#include "queue.h"

namespace hotpath {
namespace {

/// The queues of this process, found by their descriptors. We are not notified when one is closed,
/// so each access checks whether it is still open, and open() frees the closed ones.
class Queues {
public:
    /// Returns a new queue's descriptor, which the caller has to close. Throws std::system_error.
    int open() {
        const std::lock_guard lock(mutex_);
        std::erase_if(queues_, [](const auto& entry) { return !entry.second->is_open(); });
        Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
        if (epoll.number() < 0) {
            throw std::system_error(errno, std::generic_category(), "epoll_create1");
        }
        queues_[epoll.number()] = std::make_shared<Queue>(epoll.number());
        return epoll.release();
    }

    /// Returns null if there is no such queue. The queue lives while it is in use, even if it is
    /// closed meanwhile.
    std::shared_ptr<Queue> find(int number) {
        const auto queue = at(number);
        return queue != nullptr && queue->is_open() ? queue : nullptr;
    }

private:
    std::shared_ptr<Queue> at(int number) {
        const std::lock_guard lock(mutex_);
        const auto found = queues_.find(number);
        return found != queues_.end() ? found->second : nullptr;
    }

    std::mutex mutex_;  // guards the table, not the queues
    std::unordered_map<int, std::shared_ptr<Queue>> queues_;
};

Queues& queues() {
    static Queues all;
    return all;
}

// "If an error occurs while processing an element of the changelist and there is enough room in
// the eventlist, then the event will be placed in the eventlist". The arrays may be the same one.
std::expected<std::size_t, int> apply(Queue& queue, std::span<const struct kevent> changes,
                                      std::span<struct kevent> events) {
    std::size_t filled = 0;
    for (const struct kevent& change : changes) {
        const int error = queue.apply(change);
        if (error == 0 && (change.flags & EV_RECEIPT) == 0) continue;
        if (filled == events.size()) {
            if (error != 0) return std::unexpected(error);
            return filled;
        }
        struct kevent receipt = change;
        receipt.flags = EV_ERROR;
        receipt.data = error;
        events[filled++] = receipt;
    }
    return filled;
}

bool is_valid(const timespec* timeout) {
    if (timeout == nullptr) return true;
    return timeout->tv_sec >= 0 && timeout->tv_nsec >= 0 && timeout->tv_nsec < std::nano::den;
}

// More than 68 years means for ever, as on FreeBSD.
Deadline deadline_of(const timespec* timeout) {
    const time_t limit = std::numeric_limits<std::int32_t>::max();
    if (timeout == nullptr || timeout->tv_sec > limit) return std::nullopt;
    return std::chrono::steady_clock::now() + std::chrono::seconds(timeout->tv_sec) +
           std::chrono::nanoseconds(timeout->tv_nsec);
}

int fail(int error) {
    errno = error;
    return -1;
}

}  // namespace
}  // namespace hotpath

int kqueue() try { return hotpath::queues().open(); } catch (const std::system_error& error) {
    return hotpath::fail(error.code().value());
} catch (const std::bad_alloc&) {
    return hotpath::fail(ENOMEM);
}

int kevent(int kq, const struct kevent* changelist, int nchanges, struct kevent* eventlist,
           int nevents, const struct timespec* timeout) try {
    using namespace hotpath;
    if (nchanges < 0 || nevents < 0) return fail(EINVAL);
    const auto queue = queues().find(kq);
    if (queue == nullptr) return fail(EBADF);
    const std::span events(eventlist, static_cast<std::size_t>(nevents));
    const auto receipts = apply(*queue, {changelist, static_cast<std::size_t>(nchanges)}, events);
    if (!receipts) return fail(receipts.error());
    if (*receipts > 0 || nevents == 0) return static_cast<int>(*receipts);
    if (!is_valid(timeout)) return fail(EINVAL);
    return queue->wait(events, deadline_of(timeout));
} catch (const std::system_error& error) {
    return hotpath::fail(error.code().value());
} catch (const std::bad_alloc&) {
    return hotpath::fail(ENOMEM);
}
