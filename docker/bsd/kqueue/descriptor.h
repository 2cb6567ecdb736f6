#pragma once

#include <unistd.h>

#include <utility>

namespace hotpath {

/// Owns a descriptor and closes it in the destructor.
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

    /// -1 if it owns no descriptor.
    int number() const { return number_; }

    /// Returns the number, which the caller has to close from now on.
    int release() { return std::exchange(number_, -1); }

private:
    int number_ = -1;
};

}  // namespace hotpath
