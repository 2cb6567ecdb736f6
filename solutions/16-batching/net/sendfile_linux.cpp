#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "sendfile.h"

namespace web {
namespace {

// MSG_MORE (send(2)): the head waits for the file's bytes and is sent in the same segment as the
// first of them.
ssize_t send_head(const Fd& socket, std::span<const iovec> parts) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(parts.size());
    return ::sendmsg(socket.number(), &message, MSG_MORE);
}

}  // namespace

ssize_t send_with_file(const Fd& socket, std::span<const iovec> head, const FileRange& range,
                       std::size_t limit) {
    if (range.file.needs_copy()) [[unlikely]]
        return send_copy(socket, head, range, limit);
    const std::size_t head_size = size_of(head);
    const ssize_t sent = head_size > 0 ? send_head(socket, head) : 0;
    if (static_cast<std::size_t>(sent) != head_size) return sent;
    off_t offset = range.offset;
    ssize_t of_file =
        ::sendfile(socket.number(), range.file.fd().number(), &offset, std::min(range.size, limit));
    if (of_file < 0 && is_refused(errno)) [[unlikely]] {
        range.file.set_needs_copy();
        of_file = send_copy(socket, {}, range, limit);
    }
    return of_file < 0 && sent > 0 ? sent : sent + of_file;
}

}  // namespace web
