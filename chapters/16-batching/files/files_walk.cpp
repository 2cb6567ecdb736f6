#include <array>
#include <cerrno>
#include <string_view>

#include "files_system.h"

namespace web {
namespace {

Fd open_segment(int directory, std::string_view segment, int flags) {
    std::array<char, 256> name;  // longer than any file system allows
    if (segment.size() >= name.size()) {
        errno = ENAMETOOLONG;
        return Fd();
    }
    name[segment.copy(name.data(), segment.size())] = '\0';
    return Fd(::openat(directory, name.data(), flags | O_NOFOLLOW));
}

}  // namespace

// For a name with slashes O_NOFOLLOW only checks the last part (open(2)), so each segment is opened
// separately.
Fd walk_beneath(const Fd& root, const char* name) {
    std::string_view rest = name;
    Fd directory;
    int from = root.number();
    for (std::size_t slash; (slash = rest.find('/')) != rest.npos; from = directory.number()) {
        directory = open_segment(from, rest.substr(0, slash), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory.number() < 0) return directory;
        rest.remove_prefix(slash + 1);
    }
    return open_segment(from, rest, open_flags);
}

}  // namespace web
