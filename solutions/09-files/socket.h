#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "fd.h"
#include "file.h"

namespace web {

// No call below waits: listeners and their clients are non-blocking.

/// Why nothing was received or sent.
enum class IoError {
    wants_receive,  // not now: once there is something to receive
    wants_send,     // not now: once there is room to send
    failed,
};

enum class AcceptError {
    would_block,  // nobody is waiting
    gone,         // the client hung up in the queue: ask again
    exhausted,    // out of descriptors or memory: asking again at once would spin
};

/// `count` sockets that listen on one numeric address and between which the kernel spreads its
/// clients. Port 0 lets the system choose. Throws std::system_error naming the call that failed.
std::vector<Fd> listen_on(const std::string& host, std::uint16_t port, unsigned count);

/// The port that a listening socket got.
std::uint16_t local_port(const Fd& socket);

std::expected<Fd, AcceptError> accept_client(const Fd& listener);

/// Bytes received; 0 when the peer has finished sending.
std::expected<std::size_t, IoError> receive(const Fd& socket, std::span<char> into);

/// Sends the parts in order, with one writev(2). Bytes that the socket took, perhaps fewer than
/// offered.
std::expected<std::size_t, IoError> send(const Fd& socket, std::span<const iovec> parts);

/// Sends the parts, then at most `most` bytes of the file; the rest as above. A file that has
/// become too short is a failure.
std::expected<std::size_t, IoError> send(const Fd& socket, std::span<const iovec> parts,
                                         const FileRange& file, std::size_t limit);

/// Tells the peer that nothing more will come; receiving goes on.
void half_close(const Fd& socket);

}  // namespace web
