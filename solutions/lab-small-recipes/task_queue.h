#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace web {

/// Tasks for threads that sleep while there are none. Thread-safe.
class TaskQueue {
public:
    using Task = int;

    /// Adds tasks after those that wait, and makes sure that a thread takes them.
    void push(std::span<const Task> tasks) {
        if (add(tasks)) {
            // One thread is enough, because take() takes all tasks, including those that are pushed
            // before the thread runs.
            ready_.notify_one();
        }
    }

    /// Sleeps until there are tasks and returns all of them, the oldest first. Returns none once
    /// the queue is closed.
    std::vector<Task> take() {
        std::unique_lock lock(mutex_);
        ++sleeping_;
        ready_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
        --sleeping_;
        return std::exchange(tasks_, {});
    }

    /// No more tasks will come: threads that sleep in take() return.
    void close() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        ready_.notify_all();
    }

    /// The number of threads in take(). Relaxed, because no other read depends on it.
    std::size_t sleeping() const noexcept { return sleeping_.load(std::memory_order_relaxed); }

private:
    // Returns whether the queue was empty before and is not empty now.
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
