#pragma once

#include <sys/socket.h>

#include "fd.h"

namespace web {

// The parts that differ by system: socket_linux.cpp or socket_bsd.cpp. Only socket.cpp uses them.

/// A stream socket to listen with. On failure it owns no descriptor and errno is set.
Fd open_listener(int family);

// TODO(4.2): whether a port can be shared, and how, differs by system.

/// The next client. On failure the Fd owns no descriptor and errno is set, to EAGAIN if no client
/// arrived within the slice.
Fd accept_within_slice(const Fd& listener);

}  // namespace web
