#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "address.h"

namespace web {

/// Limits the number of clients, in all and per address. Shared by all workers, and asked once for
/// each client.
class ConnectionLimiter {
public:
    struct Bounds {
        std::size_t clients = 10'000;
        std::size_t per_address = 0;  // 0: no limit
    };

    /// Held by a client as long as it is connected. The destructor frees the place.
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

    /// Returns nothing if a limit is reached. Throws std::bad_alloc.
    std::optional<Slot> admit(const Address& address);

private:
    bool count_address(const Address& address);
    void release(const Address& address);

    const Bounds bounds_;
    std::atomic<std::size_t> clients_ = 0;  // relaxed: orders no other memory
    std::mutex mutex_;  // protects per_address_, which is used only with a limit per address
    std::map<Address, std::size_t> per_address_;  // only addresses that have clients
};

}  // namespace web
