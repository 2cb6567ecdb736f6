#include <linux/openat2.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "files_system.h"

namespace web {
namespace {

// While directories are being renamed, openat2(2) may fail with EAGAIN and have to be repeated.
constexpr int most_tries = 8;

Fd open_once(int root, const char* name) {
    open_how how{};
    how.flags = open_flags;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    return Fd(static_cast<int>(::syscall(SYS_openat2, root, name, &how, sizeof how)));
}

// Kernels before 5.6 lack the call, and some containers forbid it.
bool has_openat2() {
    const Fd here = open_once(AT_FDCWD, ".");
    return here.number() >= 0 || (errno != ENOSYS && errno != EPERM);
}

// MSG_MORE (send(2)): the head waits for the file's bytes and is sent in the same segment as the
// first of them.
ssize_t send_head(const Fd& socket, std::span<const iovec> parts) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    return ::sendmsg(socket.number(), &message, MSG_MORE);
}

}  // namespace

Fd open_beneath(const Fd& root, const char* name) {
    static const bool whole_names = has_openat2();
    for (int tries = 0; whole_names && tries < most_tries; ++tries) {
        Fd file = open_once(root.number(), name);
        if (file.number() >= 0 || errno != EAGAIN) return file;
    }
    return walk_beneath(root, name);
}

std::int64_t modified_ns(const struct stat& status) {
    return nanoseconds(status.st_mtim);
}

ssize_t send_with_file(const Fd& socket, std::span<const iovec> head, const FileRange& range,
                       std::size_t limit) {
    const std::size_t head_size = size_of(head);
    const ssize_t sent = head_size > 0 ? send_head(socket, head) : 0;
    if (static_cast<std::size_t>(sent) != head_size) return sent;
    off_t offset = range.offset;
    const ssize_t of_file =
        ::sendfile(socket.number(), range.file.fd().number(), &offset, std::min(range.size, limit));
    return of_file < 0 && sent > 0 ? sent : sent + of_file;
}

}  // namespace web
