#pragma once

#include <sys/socket.h>

#include "fd.h"

namespace web {

// The parts that differ by system: socket_linux.cpp or socket_bsd.cpp. Only socket.cpp uses them.

/// A non-blocking stream socket to listen with. On failure it owns no descriptor and errno is set.
Fd open_listener(int family);

/// Whether several listeners can share one port, with the kernel spreading clients over them.
extern const bool can_share_port;

/// Lets a listener share its port; call it before the listener is bound. Returns false and sets
/// errno on failure.
bool share_port(const Fd& socket);

/// Accepts the next client as a non-blocking socket and stores its address. On failure returns no
/// descriptor and sets errno.
Fd accept_non_blocking(const Fd& listener, sockaddr_storage& from);

}  // namespace web
