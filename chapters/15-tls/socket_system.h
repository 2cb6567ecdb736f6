#pragma once

#include <sys/socket.h>

#include "fd.h"

namespace web {

// What differs by system: socket_linux.cpp or socket_bsd.cpp. Only socket.cpp asks for it.

/// A non-blocking stream socket to listen with. Without a number, and with errno set, if there is
/// none.
Fd open_listener(int family);

/// Whether several listeners may have one port, and the kernel spreads clients over them.
extern const bool can_share_port;

/// Lets a listener do so, before it is bound; false and errno if it may not.
bool share_port(const Fd& socket);

/// The next client, non-blocking, and where it comes from; or no number, and errno.
Fd accept_non_blocking(const Fd& listener, sockaddr_storage& from);

}  // namespace web
