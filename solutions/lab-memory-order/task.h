#pragma once

#include <atomic>
#include <cstdint>

namespace web {

struct Letter {
    std::uint64_t number;
    std::uint64_t words[3];
};

// One thread puts letters in, another takes them out; there is room for one.
class Mailbox {
public:
    // By the writer only; false while the last letter is still there.
    bool put(const Letter& letter) noexcept {
        // Acquire, the partner of take()'s store: what it read is read before we write over it.
        if (full_.load(std::memory_order_acquire)) {
            return false;
        }
        letter_ = letter;
        // Release, for take()'s load: who sees the box full sees the whole letter.
        full_.store(true, std::memory_order_release);
        // Relaxed: nobody reads anything else on the strength of it, and nobody else writes it.
        put_.store(put_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return true;
    }

    // By the reader only; false while there is none.
    bool take(Letter& letter) noexcept {
        // Acquire, the partner of put()'s store.
        if (!full_.load(std::memory_order_acquire)) {
            return false;
        }
        letter = letter_;
        // Release, for put()'s load.
        full_.store(false, std::memory_order_release);
        return true;
    }

    // How many were ever put in; by anyone, for a statistic.
    std::uint64_t count() const noexcept { return put_.load(std::memory_order_relaxed); }

private:
    Letter letter_{};
    std::atomic<bool> full_ = false;
    std::atomic<std::uint64_t> put_ = 0;
};

}  // namespace web
