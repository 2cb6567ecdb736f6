#pragma once  // TODO(lab-small-recipes): count without a mutex

#include <cstdint>
#include <mutex>

namespace web {

/// A counter that any thread may increment or read.
class SharedCounter {
public:
    void add() noexcept {
        const std::lock_guard lock(mutex_);
        ++count_;
    }

    std::uint64_t value() const noexcept {
        const std::lock_guard lock(mutex_);
        return count_;
    }

private:
    mutable std::mutex mutex_;
    std::uint64_t count_ = 0;
};

/// A counter that one thread increments and any thread may read.
class OwnCounter {
public:
    /// Called only by the thread that owns the counter.
    void add() noexcept { count_.add(); }

    std::uint64_t value() const noexcept { return count_.value(); }

private:
    SharedCounter count_;
};

}  // namespace web
