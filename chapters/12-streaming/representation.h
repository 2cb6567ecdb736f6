#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "coding.h"
#include "common_headers.h"
#include "file.h"
#include "range.h"

namespace web {

/// A strong entity tag (RFC 9110 §8.8.3): of a version, in one coding.
class EntityTag {
public:
    EntityTag(const FileVersion& version, Coding coding);

    /// With its quotes.
    std::string_view text() const { return {text_.data(), size_}; }

private:
    std::array<char, 48> text_;
    std::size_t size_ = 0;
};

/// The form of a file that an answer is of, as its fields tell (RFC 9110 §8).
struct Representation {
    /// The most bytes that format() writes.
    static constexpr std::size_t max_fields = 320;

    Representation(const FileVersion& of, Coding in) : version(of), coding(in), tag(of, in) {}

    /// Writes its field lines and returns where they end.
    char* format(char* out, const CommonHeaders& common_headers) const;

    FileVersion version;
    Coding coding;
    bool has_forms = false;         // others may get another one (RFC 9110 §12.5.5)
    std::optional<ByteRange> part;  // where it is not all of it
    EntityTag tag;
};

}  // namespace web
