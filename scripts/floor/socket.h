#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace web {

enum class IoError { would_block, exhausted, failed };

/// The error that errno means after a failed call; `exhausted`: no descriptor or memory left.
IoError last_error();

/// Returns a non-blocking socket that listens on a numeric address; port 0 lets the system choose.
/// Throws std::system_error naming the call that failed.
int listen_on(const std::string& host, std::uint16_t port);

std::uint16_t local_port(int socket);

/// Returns the next waiting client's socket, non-blocking.
std::expected<int, IoError> accept_client(int listener);

/// Returns the number of bytes received; 0 when the peer has finished sending.
std::expected<std::size_t, IoError> receive(int socket, std::span<char> into);

/// Returns the number of bytes that the socket took, perhaps fewer than offered.
std::expected<std::size_t, IoError> send(int socket, std::string_view bytes);

}  // namespace web
