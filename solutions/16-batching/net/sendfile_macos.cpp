#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "sendfile.h"

namespace web {

// sendfile(2) reports how much it sent even if it fails. It takes a head, but counts it as part of
// the file (xnu) or not (its manual page), so the head is sent separately, before the file.
ssize_t send_with_file(const Fd& socket, std::span<const iovec> head, const FileRange& range,
                       std::size_t limit) {
    if (range.file.needs_copy()) return send_copy(socket, head, range, limit);
    const std::size_t head_size = size_of(head);
    const ssize_t sent =
        head_size > 0 ? ::writev(socket.number(), head.data(), static_cast<int>(head.size())) : 0;
    if (static_cast<std::size_t>(sent) != head_size) return sent;
    auto of_file = static_cast<off_t>(std::min(range.size, limit));
    const int result =
        ::sendfile(range.file.fd().number(), socket.number(), range.offset, &of_file, nullptr, 0);
    if (result < 0 && is_refused(errno)) {
        range.file.set_needs_copy();
        const ssize_t copied = send_copy(socket, {}, range, limit);
        return copied < 0 && sent > 0 ? sent : sent + copied;
    }
    return result < 0 && sent + of_file == 0 ? -1 : sent + static_cast<ssize_t>(of_file);
}

}  // namespace web
