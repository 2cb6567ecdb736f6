#include <sys/types.h>
// sys/socket.h needs sys/types.h to be included first.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "sendfile.h"

namespace web {

// sendfile(2) takes the head too, and reports how much it sent even if it fails.
ssize_t send_with_file(const Fd& socket, std::span<const iovec> head, const FileRange& range,
                       std::size_t limit) {
    if (range.file.needs_copy()) return send_copy(socket, head, range, limit);
    sf_hdtr around{const_cast<iovec*>(head.data()), static_cast<int>(head.size()), nullptr, 0};
    off_t sent = 0;
    const int result = ::sendfile(range.file.fd().number(), socket.number(), range.offset,
                                  std::min(range.size, limit), &around, &sent, 0);
    if (result < 0 && sent == 0 && is_refused(errno)) {
        range.file.set_needs_copy();
        return send_copy(socket, head, range, limit);
    }
    return sent > 0 ? static_cast<ssize_t>(sent) : result;
}

}  // namespace web
