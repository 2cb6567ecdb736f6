#include "fields.h"

#include <algorithm>

namespace web {
namespace {

constexpr std::string_view crlf = "\r\n";
constexpr std::string_view spaces = " \t";

constexpr char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

}  // namespace

bool same_name(std::string_view name, std::string_view other) {
    return std::ranges::equal(name, other, {}, lower, lower);
}

std::string_view trim(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
    return text.substr(0, text.find_last_not_of(spaces) + 1);
}

std::optional<Field> take_field(std::string_view& fields) {
    if (fields.empty()) return {};
    const std::size_t size = std::min(fields.find(crlf), fields.size());
    const std::string_view line = fields.substr(0, size);
    fields.remove_prefix(std::min(size + crlf.size(), fields.size()));
    const std::size_t colon = std::min(line.find(':'), line.size());
    return Field{line.substr(0, colon), trim(line.substr(std::min(colon + 1, line.size())))};
}

std::optional<std::string_view> take_element(std::string_view& list) {
    if (list.data() == nullptr) return {};
    const std::size_t size = std::min(list.find(','), list.size());
    const std::string_view element = trim(list.substr(0, size));
    list = size < list.size() ? list.substr(size + 1) : std::string_view();
    return element;
}

}  // namespace web
