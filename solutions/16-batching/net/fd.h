#pragma once

#include <unistd.h>

#include <utility>

namespace web {

/// Owns a file descriptor and closes it exactly once, in its destructor. Not thread-safe.
class Fd {
public:
    Fd() = default;
    explicit Fd(int number) : number_(number) {}
    Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Fd() {
        if (number_ >= 0) ::close(number_);
    }

    /// The descriptor to pass to a system call; -1 if none is owned.
    int number() const { return number_; }

private:
    int number_ = -1;
};

}  // namespace web
