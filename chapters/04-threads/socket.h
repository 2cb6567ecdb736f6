#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>

#include "fd.h"

namespace web {

/// How long one call below waits before it returns without a result, so that its caller can check
/// whether the server is being stopped (SO_RCVTIMEO and SO_SNDTIMEO in socket(7)).
inline constexpr std::chrono::milliseconds wait_slice{200};

enum class IoError { timed_out, failed };

// TODO(4.2): listen_on(host, port, count): `count` sockets on the same port, or what this system
// offers instead.
/// A socket that listens on a numeric address. Port 0 lets the system choose.
/// Throws std::system_error naming the call that failed.
Fd listen_on(const std::string& host, std::uint16_t port);

/// The port that a listening socket is bound to.
std::uint16_t local_port(const Fd& socket);

/// The next client, or nothing if none arrived within the slice or it has already disconnected.
std::optional<Fd> accept_client(const Fd& listener);

/// Returns the number of bytes received; 0 when the peer has finished sending.
std::expected<std::size_t, IoError> receive(const Fd& socket, std::span<char> into);

/// Sends the parts in order, with one writev(2). Returns the number of bytes that the socket took,
/// perhaps fewer than offered.
std::expected<std::size_t, IoError> send(const Fd& socket, std::span<const iovec> parts);

/// Whether the peer has sent bytes that have not been received yet. Never waits.
bool has_unread(const Fd& socket);

/// Signals to the peer that nothing more will be sent. Receiving is still possible.
void half_close(const Fd& socket);

}  // namespace web
