// GIVEN(16.1), for you to use: nothing to write here. Read it first.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace web {

/// Bytes to send to one socket.
struct Send {
    int fd;
    std::span<const char> bytes;
    std::size_t sent = 0;  // bytes that the socket took; if it is 0, send(2) tells why
};

/// Whether this system has io_uring(7) at all, even if it is forbidden here.
extern const bool has_send_ring;

/// Sends to many sockets with one system call, io_uring_enter(2). Belongs to one thread.
class SendRing {
public:
    /// The maximum number of sends in one call.
    static constexpr unsigned capacity = 64;

    /// Throws std::system_error: ENOSYS if the kernel has no io_uring(7) or is older than 5.6.
    SendRing();
    ~SendRing();

    /// Sends what the sockets take without blocking, and sets each entry's `sent`, which is 0 for
    /// those that the kernel lacked memory for. Afterwards the kernel no longer uses the bytes.
    /// Returns 0, or the error of io_uring_enter(2) if the kernel refuses all sends from now on.
    int send(std::span<Send> sends);

private:
    struct Rings;

    std::unique_ptr<Rings> rings_;
};

}  // namespace web
