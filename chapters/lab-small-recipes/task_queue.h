#pragma once  // TODO(lab-small-recipes): wake a sleeper only when there is reason to

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
        for (const Task task : tasks) {
            {
                const std::lock_guard lock(mutex_);
                tasks_.push_back(task);
            }
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
    std::mutex mutex_;
    std::condition_variable ready_;
    std::vector<Task> tasks_;
    bool closed_ = false;
    std::atomic<std::size_t> sleeping_ = 0;
};

}  // namespace web
