#pragma once

#include <unistd.h>

#include <utility>

namespace hotpath {

/// A descriptor with one owner: closed once, when its owner goes.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }

    /// -1 when nothing is owned.
    int number() const { return number_; }

    /// The number, whose owner is the caller now.
    int release() { return std::exchange(number_, -1); }

private:
    int number_ = -1;
};

}  // namespace hotpath
