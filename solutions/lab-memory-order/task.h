#pragma once

#include <atomic>
#include <cstdint>

namespace web {

struct Letter {
    std::uint64_t number;
    std::uint64_t words[3];
};

// One thread puts letters in, another takes them out. Holds one letter.
class Mailbox {
public:
    // Called by the writer only. Returns false while the last letter is still there.
    bool put(const Letter& letter) noexcept {
        // Acquire, paired with the store in take(): it has read the letter before we overwrite it.
        if (full_.load(std::memory_order_acquire)) {
            return false;
        }
        letter_ = letter;
        // Release, paired with the load in take(): a reader that sees the box full sees the whole
        // letter.
        full_.store(true, std::memory_order_release);
        // Relaxed: no other read depends on it, and no other thread writes it.
        put_.store(put_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return true;
    }

    // Called by the reader only. Returns false if there is no letter.
    bool take(Letter& letter) noexcept {
        // Acquire, paired with the store in put().
        if (!full_.load(std::memory_order_acquire)) {
            return false;
        }
        letter = letter_;
        // Release, paired with the load in put().
        full_.store(false, std::memory_order_release);
        return true;
    }

    // How many letters were put in so far. Any thread may call it, for statistics.
    std::uint64_t count() const noexcept { return put_.load(std::memory_order_relaxed); }

private:
    Letter letter_{};
    std::atomic<bool> full_ = false;
    std::atomic<std::uint64_t> put_ = 0;
};

}  // namespace web
