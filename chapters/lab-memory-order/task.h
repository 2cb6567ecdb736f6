// TODO(lab-memory-order): use no stronger order than is needed, and write down what needs it
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
        if (full_) {
            return false;
        }
        letter_ = letter;
        full_ = true;
        ++put_;
        return true;
    }

    // Called by the reader only. Returns false if there is no letter.
    bool take(Letter& letter) noexcept {
        if (!full_) {
            return false;
        }
        letter = letter_;
        full_ = false;
        return true;
    }

    // How many letters were put in so far. Any thread may call it, for statistics.
    std::uint64_t count() const noexcept { return put_; }

private:
    Letter letter_{};
    std::atomic<bool> full_ = false;
    std::atomic<std::uint64_t> put_ = 0;
};

}  // namespace web
