#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace web {

/// Tasks for threads that sleep while there are none. Any thread may call any function.
class TaskQueue {
public:
    using Task = int;

    /// Adds tasks behind those that wait, and sees to it that somebody takes them.
    void push(std::span<const Task> tasks) {
        if (add(tasks)) {
            // One is enough, for take() leaves nothing behind: until it comes, what is pushed
            // besides is taken with the rest.
            ready_.notify_one();
        }
    }

    /// All tasks that wait, the oldest first; sleeps until there are some. None once it is closed.
    std::vector<Task> take() {
        std::unique_lock lock(mutex_);
        ++sleeping_;
        ready_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
        --sleeping_;
        return std::exchange(tasks_, {});
    }

    /// No more tasks come: whoever sleeps in take() returns.
    void close() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        ready_.notify_all();
    }

    /// Threads in take(); relaxed, for who asks learns nothing else by it.
    std::size_t sleeping() const noexcept { return sleeping_.load(std::memory_order_relaxed); }

private:
    // Whether the queue was empty, and is so no longer.
    bool add(std::span<const Task> tasks) {
        const std::lock_guard lock(mutex_);
        const bool was_empty = tasks_.empty();
        tasks_.insert(tasks_.end(), tasks.begin(), tasks.end());
        return was_empty && !tasks.empty();
    }

    std::mutex mutex_;
    std::condition_variable ready_;
    std::vector<Task> tasks_;
    bool closed_ = false;
    std::atomic<std::size_t> sleeping_ = 0;
};

}  // namespace web
