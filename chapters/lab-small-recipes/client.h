#pragma once  // TODO(lab-small-recipes): get the address without a second call

#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "fd.h"

namespace web {

/// A client that has connected, and its address.
struct Client {
    Fd connection;
    sockaddr_storage address;
};

/// Waits for the next client and returns it. Throws std::system_error if accept(2) fails.
inline Client accept_client(const Fd& listener) {
    Fd connection(::accept(listener.number(), nullptr, nullptr));
    if (connection.number() < 0) {
        throw std::system_error(errno, std::generic_category(), "accept");
    }
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    if (::getpeername(connection.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        throw std::system_error(errno, std::generic_category(), "getpeername");
    }
    return {std::move(connection), address};
}

}  // namespace web
