#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "events.h"

namespace web {

/// Owns clients. Thread-safe.
class Clients {
public:
    Client& add(std::unique_ptr<Client> client) {
        const std::lock_guard lock(mutex_);
        Client& added = *client;
        owned_.emplace(&added, std::move(client));
        return added;
    }

    std::unique_ptr<Client> take(Client& client) {
        const std::lock_guard lock(mutex_);
        return std::move(owned_.extract(&client).mapped());
    }

private:
    std::mutex mutex_;
    std::unordered_map<const Client*, std::unique_ptr<Client>> owned_;
};

/// Serves many clients, each when it has sent something. One thread waits for all of them and
/// serves them itself, one after the other.
class Loop {
public:
    /// The parameter is the number of threads that a Pool would serve with; here there is one.
    /// Throws std::system_error.
    explicit Loop(unsigned = 1) : thread_([this] { run(); }) {}

    /// Waits for clients that are being served, serves no others, and destroys all clients.
    ~Loop() {
        stopping_.store(true, std::memory_order_relaxed);
        events_.wake();
        thread_.join();
    }

    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    /// Serves the client from now on, in the order of the events, until it has ended, and then
    /// destroys it. Thread-safe. Throws std::system_error if it cannot be watched; then it is
    /// destroyed.
    void add(std::unique_ptr<Client> client) {
        Client& added = clients_.add(std::move(client));
        try {
            events_.add(added, Trigger::level);
        } catch (...) {
            clients_.take(added);
            throw;
        }
    }

private:
    // Relaxed: what the loop reads when it stops is its own data.
    bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

    void run() {
        std::array<Client*, max_events> ready;
        while (!stopping()) {
            for (Client* const client : events_.wait(ready)) {
                if (stopping()) return;
                if (!client->serve()) clients_.take(*client);
            }
        }
    }

    Events events_;
    Clients clients_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;  // last, because it uses the others
};

/// A guard makes sure that a client is served by one thread at a time. This is the published one: a
/// mark on the client, set by compare-and-swap. A client that is being served is not handed over
/// again.
struct Forgetful {
    static constexpr Trigger trigger = Trigger::edge;

    /// Called by the waiting thread for an event. Returns whether a thread has to be woken to serve
    /// the client.
    static bool hand_over(Client& client) {
        unsigned none = 0;
        return client.news.compare_exchange_strong(none, 1);
    }

    /// Called before the client is served, by the thread that serves it. Returns what after() has
    /// to know.
    static unsigned before(Client&) { return 0; }

    /// Called after the client is served. Returns false if it has to be served again.
    static bool after(Client& client, unsigned, Events&) {
        client.news.store(0);
        return true;
    }
};

// TODO(lab-thread-pool): the kernel is the guard: it reports the client once, and then no more
// until it is asked again
struct OneShot;

// TODO(lab-thread-pool): counts the events; if more arrive while the client is served, it is served
// again
struct Counting;

// TODO(lab-thread-pool): the same as a Loop, with one thread that waits and others that serve
template <class Guard>
using Pool = Loop;

}  // namespace web
