#include <algorithm>
#include <array>

#include "sendfile.h"

namespace web {

// Without a sendfile(2) the bytes are copied through a buffer, one piece at a time.
ssize_t send_with_file(const Fd& socket, std::span<const iovec> head, const FileRange& range,
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

}  // namespace web
