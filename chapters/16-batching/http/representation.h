#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "coding.h"
#include "common_headers.h"
#include "open_file.h"
#include "range.h"

namespace web {

/// A strong entity tag (RFC 9110 §8.8.3) of one version of a file in one coding.
class EntityTag {
public:
    EntityTag(const FileVersion& version, Coding coding);

    /// The tag with its quotes.
    std::string_view text() const { return {text_.data(), size_}; }

private:
    std::array<char, 48> text_;
    std::size_t size_ = 0;
};

/// The form of a file that is sent, as described by the answer's fields (RFC 9110 §8).
struct Representation {
    /// The maximum number of bytes that format() writes.
    static constexpr std::size_t max_fields = 320;

    Representation(const FileVersion& of, Coding in) : version(of), coding(in) {
        if (of.distinct != Distinct::no) tag.emplace(of, in);
    }

    /// The time of modification; nothing if another version may have the same.
    std::optional<std::chrono::sys_seconds> modified() const {
        if (version.distinct != Distinct::by_second) return std::nullopt;
        return version.modified();
    }

    /// Writes the field lines to `out` and returns their end.
    char* format(char* out, const CommonHeaders& common_headers) const;

    /// The same for a 304: only what identifies the stored answer that may be used again.
    char* format_identity(char* out) const;

    FileVersion version;
    Coding coding;
    bool has_forms = false;         // other clients may get another coding (RFC 9110 §12.5.5)
    std::optional<ByteRange> part;  // set if only a part is sent
    std::optional<EntityTag> tag;   // of a version that is distinct
};

}  // namespace web
