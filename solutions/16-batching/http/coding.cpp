#include "coding.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fields.h"

namespace web {
namespace {

constexpr std::uint16_t limit = 1000;

// RFC 9110 §12.4.2: 0 or 1 and up to three digits after the point. Returned in thousandths.
std::optional<std::uint16_t> parse_weight(std::string_view text) {
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return {};
    if (text.size() > 1 && text[1] != '.') return {};
    int weight = (text[0] - '0') * limit;
    int digit = limit / 10;
    for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
        if (c < '0' || c > '9') return {};
        weight += (c - '0') * digit;
        digit /= 10;
    }
    if (weight > limit) return {};
    return static_cast<std::uint16_t>(weight);
}

// ";q=0.5" after a name. No other parameter has a meaning here.
std::optional<std::uint16_t> weight_from(std::string_view parameter) {
    parameter = trim(parameter);
    if (!same_name(parameter.substr(0, 2), "q=")) return {};
    return parse_weight(parameter.substr(2));
}

}  // namespace

std::string_view coding_name(Coding coding) {
    constexpr std::array<std::string_view, coding_count> names{"br", "zstd", "gzip", "identity"};
    return names[std::to_underlying(coding)];
}

std::string_view coding_suffix(Coding coding) {
    constexpr std::array<std::string_view, coding_count> suffixes{".br", ".zst", ".gz", ""};
    return suffixes[std::to_underlying(coding)];
}

void AcceptedCodings::add(std::string_view value) {
    while (const auto element = take_element(value)) {
        const std::size_t semicolon = std::min(element->find(';'), element->size());
        const std::string_view name = trim(element->substr(0, semicolon));
        if (semicolon == element->size()) {
            set(name, limit);
        } else if (const auto weight = weight_from(element->substr(semicolon + 1))) {
            set(name, *weight);
        }
    }
}

void AcceptedCodings::set(std::string_view name, std::uint16_t weight) {
    if (name == "*") others_ = weight;
    if (same_name(name, "x-gzip")) name = "gzip";  // RFC 9110 §8.4.1.3
    for (std::size_t i = 0; i < coding_count; ++i) {
        if (same_name(name, coding_name(Coding(i)))) weights_[i] = weight;
    }
}

std::uint16_t AcceptedCodings::weight_of(Coding coding) const {
    const std::uint16_t said = weights_[std::to_underlying(coding)];
    if (said != unsaid) return said;
    if (others_ != unsaid) return others_;
    return 0;
}

// The plain form is always available, so it is only preferred if the client gives it a greater
// weight. If the client refuses every form, it is still sent the plain one (§12.5.3) rather than no
// answer.
std::span<const Coding> AcceptedCodings::preferred() {
    const std::uint16_t plain = weights_[std::to_underlying(Coding::identity)];
    const std::uint16_t min = plain == unsaid ? 1 : std::max<std::uint16_t>(plain, 1);
    std::size_t count = 0;
    for (const Coding coding : {Coding::br, Coding::zstd, Coding::gzip}) {
        if (weight_of(coding) >= min) preferred_[count++] = coding;
    }
    const std::span<Coding> found(preferred_.data(), count);
    const auto liking = [&](Coding coding) {
        return std::pair(weight_of(coding), coding_count - std::to_underlying(coding));
    };
    std::ranges::sort(found, std::ranges::greater{}, liking);
    return found;
}

}  // namespace web
