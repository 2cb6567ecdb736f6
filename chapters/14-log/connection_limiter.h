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
class ConnectionLimiter {
public:
    struct Bounds {
        std::size_t clients = 10'000;
        std::size_t per_address = 0;  // 0: any number
    };

    /// What a client has while it is here: its place is free again when this goes.
    class Slot {
    public:
        Slot(ConnectionLimiter& limiter, const Address& address)
            : limiter_(&limiter), address_(address) {}
        Slot(Slot&& other) noexcept
            : limiter_(std::exchange(other.limiter_, nullptr)), address_(other.address_) {}
        Slot& operator=(Slot&&) = delete;
        ~Slot() {
            if (limiter_) limiter_->release(address_);
        }

    private:
        ConnectionLimiter* limiter_;
        Address address_;
    };

    explicit ConnectionLimiter(const Bounds& bounds) : bounds_(bounds) {}

    /// Nothing if there is no place for a client from there. Throws std::bad_alloc.
    std::optional<Slot> admit(const Address& address);

private:
    bool count_address(const Address& address);
    void release(const Address& address);

    const Bounds bounds_;
    std::atomic<std::size_t> clients_ = 0;  // orders nothing else
    std::mutex mutex_;                      // over what is below, which is used only with a bound
    std::map<Address, std::size_t> per_address_;  // of those who have clients
};

}  // namespace web
