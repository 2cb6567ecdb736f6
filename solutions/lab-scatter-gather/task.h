#pragma once

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
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

/// How many buffers one system call accepts (sysconf(3)). POSIX guarantees at least 16.
inline std::size_t max_per_call() noexcept {
    static const long limit = ::sysconf(_SC_IOV_MAX);
    return limit > 0 ? static_cast<std::size_t>(limit) : 16;
}

/// The buffers left after `count` bytes. The result never begins with an empty buffer, because a
/// call for zero bytes returns 0, as at the end of the stream.
inline std::span<iovec> left_after(std::span<iovec> buffers, std::size_t count) noexcept {
    while (!buffers.empty() && count >= buffers.front().iov_len) {
        count -= buffers.front().iov_len;
        buffers = buffers.subspan(1);
    }
    if (!buffers.empty()) {
        iovec& first = buffers.front();
        first = {static_cast<std::byte*>(first.iov_base) + count, first.iov_len - count};
    }
    return buffers;
}

/// Calls with as many buffers as one call accepts until none is left or no more bytes can be
/// transferred.
template <class Call>
Progress transfer(std::span<iovec>& buffers, Call call) {
    Progress progress;
    buffers = left_after(buffers, 0);
    while (!buffers.empty()) {
        msghdr message{};
        message.msg_iov = buffers.data();
        message.msg_iovlen =
            static_cast<decltype(message.msg_iovlen)>(std::min(buffers.size(), max_per_call()));
        const ssize_t count = call(message);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            progress.error = {count < 0 ? errno : 0, std::system_category()};
            return progress;
        }
        progress.bytes += static_cast<std::size_t>(count);
        buffers = left_after(buffers, static_cast<std::size_t>(count));
    }
    return progress;
}

/// Sends the buffers in order, any number of them: all, or as much as a non-blocking socket
/// accepts. Afterwards `buffers` is what is left to send, in the same array, whose entries may have
/// changed. The caller keeps the ownership of the bytes. Errors are those of sendmsg(2) except
/// EINTR.
inline Progress send(int socket, std::span<iovec>& buffers) {
    return transfer(buffers, [socket](const msghdr& message) {
        return ::sendmsg(socket, &message, without_signal);
    });
}

/// Fills the buffers in order: all, or as far as there are bytes. Afterwards `buffers` is what is
/// left to fill, in the same array. If some are left and there is no error, the peer has finished.
/// Errors are those of recvmsg(2) except EINTR.
inline Progress receive(int socket, std::span<iovec>& buffers) {
    return transfer(buffers, [socket](msghdr& message) { return ::recvmsg(socket, &message, 0); });
}

}  // namespace web
