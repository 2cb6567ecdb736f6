#pragma once  // TODO(lab-memory-order): ask for no more order than is needed, and say who needs it

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
        if (full_) {
            return false;
        }
        letter_ = letter;
        full_ = true;
        ++put_;
        return true;
    }

    // By the reader only; false while there is none.
    bool take(Letter& letter) noexcept {
        if (!full_) {
            return false;
        }
        letter = letter_;
        full_ = false;
        return true;
    }

    // How many were ever put in; by anyone, for a statistic.
    std::uint64_t count() const noexcept { return put_; }

private:
    Letter letter_{};
    std::atomic<bool> full_ = false;
    std::atomic<std::uint64_t> put_ = 0;
};

}  // namespace web
