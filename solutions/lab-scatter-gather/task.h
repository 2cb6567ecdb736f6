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
/// What a send is told so that a peer that has gone costs an EPIPE and not the process (send(2)).
inline constexpr int without_signal = MSG_NOSIGNAL;

/// Once for a socket before its first send: nothing to do here.
inline void disable_sigpipe(int) noexcept {}
#else
inline constexpr int without_signal = 0;

/// Once for a socket before its first send: macOS asks it of the socket, not of the call.
inline void disable_sigpipe(int socket) noexcept {
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
}
#endif

/// How far a call came.
struct Progress {
    std::size_t bytes = 0;  // that went or came, whether there was an error or not
    std::error_code error;  // what stopped it: operation_would_block if that is all for now
};

/// How many buffers a system call takes (sysconf(3)). POSIX lets no system take fewer than 16.
inline std::size_t max_per_call() noexcept {
    static const long limit = ::sysconf(_SC_IOV_MAX);
    return limit > 0 ? static_cast<std::size_t>(limit) : 16;
}

/// What is left when so many bytes of the buffers are dealt with. It never begins with an empty
/// buffer: a call that is asked for nothing answers 0, as one does that has met the end.
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

/// Calls with as many buffers as a call takes until none is left, or no more goes or comes.
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

/// Sends the buffers in order, any number of them: all, or as much as a non-blocking socket takes.
/// `buffers` is then what is left to send, in the same array, whose entries may have changed. The
/// bytes stay the caller's. Errors are those of sendmsg(2) but for EINTR.
inline Progress send(int socket, std::span<iovec>& buffers) {
    return transfer(buffers, [socket](const msghdr& message) {
        return ::sendmsg(socket, &message, without_signal);
    });
}

/// Fills the buffers in order, all, or as far as there is something. `buffers` is then what is left
/// to fill, in the same array; with some left and no error the peer has finished. Errors are those
/// of recvmsg(2) but for EINTR.
inline Progress receive(int socket, std::span<iovec>& buffers) {
    return transfer(buffers, [socket](msghdr& message) { return ::recvmsg(socket, &message, 0); });
}

}  // namespace web
