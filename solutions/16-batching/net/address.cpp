#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace web {
namespace {

constexpr std::array<std::uint8_t, 12> ipv4_mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

Address::Address(const sockaddr_storage& from) {
    if (from.ss_family == AF_INET6) {
        std::memcpy(bytes_.data(), &reinterpret_cast<const sockaddr_in6&>(from).sin6_addr, 16);
    } else {
        std::ranges::copy(ipv4_mapped, bytes_.begin());
        std::memcpy(bytes_.data() + 12, &reinterpret_cast<const sockaddr_in&>(from).sin_addr, 4);
    }
}

bool Address::is_ipv4() const {
    return std::ranges::equal(ipv4_mapped, std::span(bytes_).first<12>());
}

Address Address::network() const {
    Address network = *this;
    if (!is_ipv4()) std::fill_n(network.bytes_.begin() + 8, 8, 0);
    return network;
}

Address::Text Address::text() const {
    Text text{};
    const bool ipv4 = is_ipv4();
    const void* const bytes = ipv4 ? &bytes_[12] : bytes_.data();
    ::inet_ntop(ipv4 ? AF_INET : AF_INET6, bytes, text.data(), static_cast<socklen_t>(text.size()));
    return text;
}

}  // namespace web
