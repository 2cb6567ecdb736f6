#pragma once

#include <array>
#include <compare>
#include <cstdint>

struct sockaddr_storage;

namespace web {

/// A client's IPv6 address. An IPv4 address is mapped into one (RFC 4291 §2.5.5.2).
class Address {
public:
    /// An address as text, with the NUL that ends it (INET6_ADDRSTRLEN).
    using Text = std::array<char, 46>;

    explicit Address(const sockaddr_storage& from);

    /// The network of the address, as far as its owner is concerned: the owner of an IPv6 network
    /// has 2^64 addresses (RFC 4291 §2.5.4). An IPv4 address is a network of its own.
    Address network() const;

    /// A mapped address as the IPv4 address that it is.
    Text text() const;

    auto operator<=>(const Address&) const = default;

private:
    bool is_ipv4() const;

    std::array<std::uint8_t, 16> bytes_{};  // in network byte order
};

}  // namespace web
