#include <sys/socket.h>

#include "socket.h"

namespace web {

std::expected<int, IoError> accept_client(int listener) {
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
    if (client < 0) return std::unexpected(last_error());
    return client;
}

}  // namespace web
