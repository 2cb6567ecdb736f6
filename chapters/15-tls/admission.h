#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "socket.h"

namespace web {

/// Decides who may come in: so many clients in all, and so many from one address. Shared by all
/// workers, and asked once for each client.
class Admission {
public:
    struct Bounds {
        std::size_t clients = 10'000;
        std::size_t of_address = 0;  // 0: any number
    };

    /// What a client has while it is here: its place is free again when this goes.
    class Place {
    public:
        Place(Admission& admission, const Address& address)
            : admission_(&admission), address_(address) {}
        Place(Place&& other) noexcept
            : admission_(std::exchange(other.admission_, nullptr)), address_(other.address_) {}
        Place& operator=(Place&&) = delete;
        ~Place() {
            if (admission_) admission_->leave(address_);
        }

    private:
        Admission* admission_;
        Address address_;
    };

    explicit Admission(const Bounds& bounds) : bounds_(bounds) {}

    /// Nothing if there is no place for a client from there. Throws std::bad_alloc.
    std::optional<Place> admit(const Address& address);

private:
    bool count_in(const Address& address);
    void leave(const Address& address);

    const Bounds bounds_;
    std::atomic<std::size_t> clients_ = 0;  // orders nothing else
    std::mutex mutex_;                      // over what is below, which is used only with a bound
    std::map<Address, std::size_t> of_address_;  // of those who have clients
};

}  // namespace web
