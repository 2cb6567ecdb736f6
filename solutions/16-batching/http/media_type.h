#pragma once

#include <cstddef>
#include <string_view>

namespace web {

/// A media type (RFC 9110 §8.3). Only a literal, because the bytes must outlive the answer.
class MediaType {
public:
    static constexpr std::size_t max_size = 128;

    MediaType() = default;

    template <std::size_t size>
    consteval MediaType(const char (&text)[size]) : text_(text, size - 1) {
        static_assert(size <= max_size);
    }

    std::string_view text() const { return text_; }

private:
    std::string_view text_;
};

/// Whether files of this type become smaller when compressed, so that compressed forms may exist.
bool is_compressible(MediaType type);

/// The media type for a file name, by its extension.
MediaType media_type(std::string_view file_name);

}  // namespace web
