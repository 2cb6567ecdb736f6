#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "address.h"
#include "fd.h"
#include "open_file.h"

namespace web {

// No call below blocks: listeners and their clients are non-blocking.

/// Why nothing was received or sent.
enum class IoError : std::size_t {
    needs_receive,  // retry when there is something to receive
    needs_send,     // retry when the socket is writable
    failed,
};

enum class AcceptError {
    would_block,  // no client is waiting
    gone,         // the client disconnected while queued: accept the next one
    exhausted,    // out of descriptors or memory: retrying at once would spin
};

/// `count` sockets that listen on one numeric address and between which the kernel spreads its
/// clients. Port 0 lets the system choose. Throws std::system_error naming the call that failed.
std::vector<Fd> listen_on(const std::string& host, std::uint16_t port, unsigned count);

/// The port that a listening socket is bound to.
std::uint16_t local_port(const Fd& socket);

struct Accepted {
    Fd socket;
    Address address;
};

std::expected<Accepted, AcceptError> accept_client(const Fd& listener);

/// Returns the number of bytes received; 0 when the peer has finished sending.
std::expected<std::size_t, IoError> receive(const Fd& socket, std::span<char> into);

/// Sends the parts in order, with one writev(2). Returns the number of bytes that the socket took,
/// perhaps fewer than offered.
std::expected<std::size_t, IoError> send(const Fd& socket, std::span<const iovec> parts);

/// Sends the parts, then at most `limit` bytes of the file; otherwise as above. A file that has
/// become too short is reported as IoError::failed.
std::expected<std::size_t, IoError> send(const Fd& socket, std::span<const iovec> parts,
                                         const FileRange& file, std::size_t limit);

/// Signals to the peer that nothing more will be sent. Receiving is still possible.
void half_close(const Fd& socket);

}  // namespace web
