#pragma once

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
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    Fd connection(::accept(listener.number(), reinterpret_cast<sockaddr*>(&address), &size));
    if (connection.number() < 0) {
        throw std::system_error(errno, std::generic_category(), "accept");
    }
    return {std::move(connection), address};
}

}  // namespace web
