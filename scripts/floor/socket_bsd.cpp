#include <sys/socket.h>

#include "socket.h"

namespace web {

// An accepted socket is non-blocking because its listener is (accept(2) on the BSDs).
std::expected<int, IoError> accept_client(int listener) {
    const int client = ::accept(listener, nullptr, nullptr);
    if (client < 0) return std::unexpected(last_error());
    return client;
}

}  // namespace web
