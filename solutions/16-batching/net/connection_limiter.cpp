#include "connection_limiter.h"

namespace web {

std::optional<ConnectionLimiter::Slot> ConnectionLimiter::admit(const Address& address) {
    const Address network = address.network();
    if (bounds_.per_address > 0 && !count_address(network)) return std::nullopt;
    Slot slot(*this, network);
    // Counted even when there are too many clients, because `place` uncounts it on return like any
    // other.
    if (clients_.fetch_add(1, std::memory_order_relaxed) >= bounds_.clients) return std::nullopt;
    return slot;
}

bool ConnectionLimiter::count_address(const Address& address) {
    const std::scoped_lock lock(mutex_);
    std::size_t& clients = per_address_[address];
    if (clients == bounds_.per_address) return false;
    ++clients;
    return true;
}

void ConnectionLimiter::release(const Address& address) {
    clients_.fetch_sub(1, std::memory_order_relaxed);
    if (bounds_.per_address == 0) return;
    const std::scoped_lock lock(mutex_);
    const auto found = per_address_.find(address);
    if (--found->second == 0) per_address_.erase(found);
}

}  // namespace web
