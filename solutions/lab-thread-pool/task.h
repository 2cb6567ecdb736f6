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

/// The kernel is the guard: it reports the client once, and then no more until it is asked again.
struct OneShot {
    static constexpr Trigger trigger = Trigger::oneshot;

    static bool hand_over(Client&) { return true; }

    static unsigned before(Client&) { return 0; }

    static bool after(Client& client, unsigned, Events& events) {
        events.rearm(client);
        return true;
    }
};

/// Counts the events. If more arrive while the client is served, it is served again.
struct Counting {
    static constexpr Trigger trigger = Trigger::edge;

    static bool hand_over(Client& client) {
        return client.news.fetch_add(1, std::memory_order_acq_rel) == 0;
    }

    // Acquire, paired with hand_over(): the data that these events announce is received after this.
    static unsigned before(Client& client) { return client.news.load(std::memory_order_acquire); }

    // Release, paired with hand_over(): the next thread sees what this one has done with the
    // client.
    static bool after(Client& client, unsigned known, Events&) {
        return client.news.compare_exchange_strong(known, 0, std::memory_order_acq_rel);
    }
};

/// The same as a Loop, with one thread that waits and others that serve.
template <class Guard>
class Pool {
public:
    explicit Pool(unsigned threads) {
        try {
            threads_.emplace_back(&Pool::wait, this);
            for (unsigned i = 0; i < threads; ++i) {
                threads_.emplace_back(&Pool::work, this);
            }
        } catch (...) {
            stop();
            throw;
        }
    }

    ~Pool() { stop(); }

    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    void add(std::unique_ptr<Client> client) {
        Client& added = clients_.add(std::move(client));
        try {
            events_.add(added, Guard::trigger);
        } catch (...) {
            clients_.take(added);
            throw;
        }
    }

private:
    using Ended = std::vector<std::unique_ptr<Client>>;

    void wait() {
        std::array<Client*, max_events> ready;
        while (go_on()) {
            for (Client* const client : events_.wait(ready)) {
                if (Guard::hand_over(*client)) push(*client);
            }
        }
    }

    // Returns whether to continue. Destroys clients that have ended and that no wait will report
    // any more.
    bool go_on() {
        Ended ended;
        const std::lock_guard lock(mutex_);
        ended.swap(ended_);
        return !stopping_;
    }

    void push(Client& client) {
        {
            const std::lock_guard lock(mutex_);
            tasks_.push_back(&client);
        }
        pushed_.notify_one();
    }

    void work() {
        while (Client* const client = pop())
            serve(*client);
    }

    // Waits for a client that is to be served. Returns null when the pool is stopping.
    Client* pop() {
        std::unique_lock lock(mutex_);
        pushed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
        if (stopping_) return nullptr;
        Client* const first = tasks_.front();
        tasks_.pop_front();
        return first;
    }

    void serve(Client& client) {
        unsigned known = 0;
        do {
            known = Guard::before(client);
            if (!client.serve()) return end(client);
        } while (!Guard::after(client, known, events_));
    }

    // The waiting thread may already have an event of this client, so that thread destroys the
    // client later.
    void end(Client& client) {
        events_.remove(client);
        {
            const std::lock_guard lock(mutex_);
            ended_.push_back(clients_.take(client));
        }
        events_.wake();
    }

    void stop() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        pushed_.notify_all();
        events_.wake();
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }

    Events events_;
    Clients clients_;
    std::mutex mutex_;  // for the next three members and stopping_
    std::condition_variable pushed_;
    std::deque<Client*> tasks_;
    Ended ended_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace web
