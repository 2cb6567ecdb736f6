// GIVEN(13.1), for you to use: nothing to write here. Read it first.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

struct sockaddr_storage;

namespace web {

/// A client's IPv6 address. An IPv4 address is mapped into one (RFC 4291 §2.5.5.2).
class Address {
public:
    explicit Address(const sockaddr_storage& from);

    /// The network of the address, as far as its owner is concerned: the owner of an IPv6 network
    /// has 2^64 addresses (RFC 4291 §2.5.4). An IPv4 address is a network of its own.
    Address network() const;

    auto operator<=>(const Address&) const = default;

private:
    bool is_ipv4() const;

    std::array<std::uint8_t, 16> bytes_{};  // in network byte order
};

}  // namespace web
