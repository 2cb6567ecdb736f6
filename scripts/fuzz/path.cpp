// Whatever a path contains, it names something beneath the root that is not hidden, or nothing, and
// writing one of its bytes as an escape changes nothing.

#include "path.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <format>
#include <memory>
#include <string>
#include <string_view>

#include "pieces.h"

namespace {

/// The target of a request, or all of the bytes, so that the requests of the table can be used as a
/// corpus.
std::string_view path_in(std::string_view text) {
    const std::size_t begin = std::min(text.find(' '), text.size() - 1) + 1;
    const std::string_view rest = text.substr(begin);
    return text.starts_with("GET ") ? rest.substr(0, rest.find_first_of(" ?\r\n")) : text;
}

/// In memory of exactly its size, so that the address sanitizer detects reads and writes beyond it.
fuzz::Verdict resolve(std::string_view text) {
    const auto path = std::make_unique_for_overwrite<char[]>(text.size());
    const auto name = std::make_unique_for_overwrite<char[]>(text.size());
    std::ranges::copy(text, path.get());
    const auto found = web::resolve({path.get(), text.size()}, {name.get(), text.size()});
    return found ? std::format("named {}", *found) : fuzz::refused(found.error());
}

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

void must_stay_beneath(std::string_view path, std::string_view name) {
    std::string_view rest = name;
    bool good = std::ranges::none_of(name, is_control);
    while (good && !rest.empty()) {
        const std::string_view segment = rest.substr(0, rest.find('/'));
        const bool well_known = segment == ".well-known" && rest.size() == name.size();
        good = !segment.empty() && (!segment.starts_with('.') || well_known);
        rest.remove_prefix(std::min(segment.size() + 1, rest.size()));
    }
    fuzz::must_be_same(path, "beneath", fuzz::Verdict(good ? "beneath" : name));
}

/// The path with every unescaped byte written as an escape.
std::string escaped(std::string_view path) {
    std::string text;
    for (std::size_t at = 0; at < path.size(); ++at) {
        const auto byte = static_cast<unsigned char>(path[at]);
        if (path[at] == '/') {
            text += '/';
        } else if (path[at] == '%') {
            text += path.substr(at, 3);
            at += 2;
        } else {
            text += std::format("%{:02x}", unsigned{byte});
        }
    }
    return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view path = path_in({reinterpret_cast<const char*>(data), size});
    const fuzz::Verdict found = resolve(path);
    fuzz::must_be_same("every byte as an escape", found, resolve(escaped(path)));
    if (found.starts_with("named ")) must_stay_beneath(path, found.substr(6));
    return 0;
}
