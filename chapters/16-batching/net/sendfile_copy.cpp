#include <algorithm>
#include <array>
#include <cerrno>

#include "sendfile.h"

namespace web {

ssize_t send_copy(const Fd& socket, std::span<const iovec> head, const FileRange& range,
                  std::size_t limit) {
    std::array<char, 64 * 1024> piece;
    const std::size_t wanted = std::min({range.size, limit, piece.size()});
    const ssize_t had = ::pread(range.file.fd().number(), piece.data(), wanted, range.offset);
    if (had < 0 || (had == 0 && head.empty())) return had;
    std::array<iovec, 3> parts{};
    const auto file_part =
        std::ranges::copy(head.first(std::min<std::size_t>(head.size(), 2)), parts.begin()).out;
    *file_part = {piece.data(), static_cast<std::size_t>(had)};
    return ::writev(socket.number(), parts.data(), static_cast<int>(head.size() + 1));
}

// sendfile(2): Linux reports EINVAL or ENOSYS, and the other systems ENOTSUP or EOPNOTSUPP. EPERM
// comes from a filter (seccomp(2)).
bool is_refused(int error) {
    constexpr std::array refusals{EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP, EPERM};
    return std::ranges::find(refusals, error) != refusals.end();
}

}  // namespace web
