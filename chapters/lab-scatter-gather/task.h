#pragma once  // TODO(lab-scatter-gather): one system call for many buffers

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <system_error>

namespace web {

#ifdef MSG_NOSIGNAL
/// Flag for send(2): sending to a peer that has disconnected returns EPIPE instead of ending the
/// process.
inline constexpr int without_signal = MSG_NOSIGNAL;

/// Called once for a socket before its first send. Nothing to do here.
inline void disable_sigpipe(int) noexcept {}
#else
inline constexpr int without_signal = 0;

/// Called once for a socket before its first send: macOS sets this for the socket, not for the
/// call.
inline void disable_sigpipe(int socket) noexcept {
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
}
#endif

/// How much a call transferred, and why it stopped.
struct Progress {
    std::size_t bytes = 0;  // bytes transferred, with or without an error
    std::error_code error;  // why it stopped: operation_would_block if that is all for now
};

/// Calls with one buffer after the other until none is left or no more bytes can be transferred.
template <class Call>
Progress transfer(std::span<iovec>& buffers, Call call) {
    Progress progress;
    while (!buffers.empty()) {
        iovec& first = buffers.front();
        if (first.iov_len == 0) {
            buffers = buffers.subspan(1);
            continue;
        }
        const ssize_t count = call(first);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            progress.error = {count < 0 ? errno : 0, std::system_category()};
            return progress;
        }
        progress.bytes += static_cast<std::size_t>(count);
        first = {static_cast<std::byte*>(first.iov_base) + count,
                 first.iov_len - static_cast<std::size_t>(count)};
    }
    return progress;
}

/// Sends the buffers in order, any number of them: all, or as much as a non-blocking socket
/// accepts. Afterwards `buffers` is what is left to send, in the same array, whose entries may have
/// changed. The caller keeps the ownership of the bytes. Errors are those of send(2) except EINTR.
inline Progress send(int socket, std::span<iovec>& buffers) {
    return transfer(buffers, [socket](const iovec& buffer) {
        return ::send(socket, buffer.iov_base, buffer.iov_len, without_signal);
    });
}

/// Fills the buffers in order: all, or as far as there are bytes. Afterwards `buffers` is what is
/// left to fill, in the same array. If some are left and there is no error, the peer has finished.
/// Errors are those of recv(2) except EINTR.
inline Progress receive(int socket, std::span<iovec>& buffers) {
    return transfer(buffers, [socket](const iovec& buffer) {
        return ::recv(socket, buffer.iov_base, buffer.iov_len, 0);
    });
}

}  // namespace web
