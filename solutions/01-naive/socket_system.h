#pragma once

#include <sys/socket.h>

#include "fd.h"

namespace web {

// What differs by system: socket_linux.cpp or socket_bsd.cpp. Only socket.cpp asks for it.

/// A stream socket to listen with. Without a number, and with errno set, if there is none.
Fd open_listener(int family);

/// The next client and its address, or no number and errno, EAGAIN if none came within the slice.
Fd accept_within_slice(const Fd& listener, sockaddr* address, socklen_t* size);

}  // namespace web
