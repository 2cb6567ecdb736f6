// For any header fields of a request for a file: the range is within the file, the coding is one
// that exists, and the case of field names changes nothing.

#include "conditions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <format>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "pieces.h"

namespace {

constexpr std::array<std::uint64_t, 4> sizes{0, 1, 1000, std::numeric_limits<std::uint64_t>::max()};

web::FileVersion version_of(std::string_view text) {
    return {.modified_ns = 1'700'000'000'123'456'789, .size = sizes[text.size() % sizes.size()]};
}

void must_lie_within(const web::ByteRange& part, std::uint64_t size) {
    if (part.size == 0 || part.first >= size || part.size > size - part.first) std::abort();
}

/// In memory of exactly its size, so that the address sanitizer detects reads beyond it.
fuzz::Verdict evaluate(std::string_view text, bool is_get) {
    const auto fields = std::make_unique_for_overwrite<char[]>(text.size());
    std::ranges::copy(text, fields.get());
    web::Conditions conditions({fields.get(), text.size()});
    web::Representation of(version_of(text), web::Coding::identity);
    const web::Verdict found = conditions.evaluate(of, is_get);
    if ((found == web::Verdict::part) != of.part.has_value()) std::abort();
    fuzz::Verdict verdict = std::format("{}", std::to_underlying(found));
    if (of.part) {
        must_lie_within(*of.part, of.version.size);
        verdict += std::format(" {} {}", of.part->first, of.part->size);
    }
    for (const web::Coding coding : conditions.codings().preferred())
        verdict += std::format(" {}", web::coding_name(coding));
    return verdict;
}

std::string with_names_in_upper_case(std::string_view text) {
    std::string upper(text);
    bool in_name = true;
    for (char& c : upper) {
        in_name = c == '\n' || (in_name && c != ':');
        if (in_name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return upper;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const fuzz::Verdict found = evaluate(text, true);
    fuzz::must_be_same("names in upper case", found,
                       evaluate(with_names_in_upper_case(text), true));
    evaluate(text, false);
    return 0;
}
