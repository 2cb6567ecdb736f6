#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace web {

/// The published server's way to write a log: any thread hands over a line, and a thread that waits
/// for lines writes them. For an experiment, instead of a buffer that its owner writes.
class LogQueue {
public:
    /// Called on the queue's thread, with lines and the number of lines that were lost before them.
    using Write = std::function<void(std::string_view lines, std::size_t lost)>;

    explicit LogQueue(Write write) : write_(std::move(write)), thread_([this] { run(); }) {}
    LogQueue(const LogQueue&) = delete;
    LogQueue& operator=(const LogQueue&) = delete;

    /// Writes the waiting lines first.
    ~LogQueue() {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
        }
        ready_.notify_one();
        thread_.join();
    }

    /// If there is no space for the line, it is lost and counted.
    void push(std::string_view line) {
        {
            const std::lock_guard lock(mutex_);
            if (lines_.size() == bound) {
                ++lost_;
                return;
            }
            lines_.emplace_back(line);
        }
        ready_.notify_one();
    }

private:
    static constexpr std::size_t bound = 16 * 1024;

    void run() {
        std::deque<std::string> taken;
        while (const auto lost = wait_for_lines(taken)) {
            std::string bytes;
            for (const std::string& line : taken)
                bytes += line;
            taken.clear();
            write_(bytes, *lost);
        }
    }

    /// Takes all lines and returns how many were lost before them. Returns nothing at the end.
    std::optional<std::size_t> wait_for_lines(std::deque<std::string>& taken) {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return ended_ || !lines_.empty(); });
        if (lines_.empty()) return std::nullopt;
        taken.swap(lines_);
        return std::exchange(lost_, 0);
    }

    const Write write_;
    std::mutex mutex_;  // protects the members below
    std::condition_variable ready_;
    std::deque<std::string> lines_;
    std::size_t lost_ = 0;
    bool ended_ = false;
    std::thread thread_;  // last, because it uses the others
};

}  // namespace web
