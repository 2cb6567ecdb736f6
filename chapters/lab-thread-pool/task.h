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

/// Owns clients. For any thread.
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

/// Serves many clients, each when it has something to say. This is one thread that waits for all of
/// them and serves them itself, one after the other.
class Loop {
public:
    /// As many threads as a Pool would have to serve; here it is one. Throws std::system_error.
    explicit Loop(unsigned = 1) : thread_([this] { run(); }) {}

    /// Waits for who is being served, and serves nobody else. Ends all clients.
    ~Loop() {
        stopping_.store(true, std::memory_order_relaxed);
        events_.wake();
        thread_.join();
    }

    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    /// Serves the client from now on, in the order in which news come, until it has ended; then
    /// ends it. For any thread. Throws std::system_error if it cannot be watched: then it is ended.
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
    // Relaxed: what the loop reads when it stops is its own.
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
    std::thread thread_;  // last: it uses the others
};

/// A guard sees to it that a client is served by one thread at a time. This is the published one: a
/// mark on the client, set by compare-and-swap. Who is served already is not handed over again.
struct Forgetful {
    static constexpr Trigger trigger = Trigger::edge;

    /// There are news. Whether a thread has to be told to serve the client. For the thread that
    /// waits.
    static bool hand_over(Client& client) {
        unsigned nobody = 0;
        return client.news.compare_exchange_strong(nobody, 1);
    }

    /// Before the client is served, by the thread that does it: what after() has to know.
    static unsigned before(Client&) { return 0; }

    /// After it. Whether that was all; else it has to be served again.
    static bool after(Client& client, unsigned, Events&) {
        client.news.store(0);
        return true;
    }
};

// TODO(lab-thread-pool): the kernel is the guard: it tells of the client once, and then no more
// until it is asked again
struct OneShot;

// TODO(lab-thread-pool): counts the news; if others came while the client was served, it is served
// again
struct Counting;

// TODO(lab-thread-pool): the same as a Loop, by one thread that waits and others that serve
template <class Guard>
using Pool = Loop;

}  // namespace web
