#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "output.h"

namespace web {

/// Splits what is to be sent into pieces that are worth a record each: small parts share a record,
/// and bytes of a file are read.
class RecordSplitter {
public:
    /// A piece has at most `of_record` bytes, all pieces together at most `limit`. `scratch` must
    /// have space for both.
    RecordSplitter(const Output& output, std::span<char> scratch, std::size_t of_record,
                   std::size_t limit);

    /// Empty at the end, or if the file has become too short. Valid until the next call.
    std::string_view next();

private:
    bool refill();
    bool read_file();
    std::string_view take(std::size_t limit);

    std::span<const iovec> parts_;  // the parts still to come
    const FileRange* file_;         // null once it has been read
    const std::span<char> gathered_;
    const std::span<char> window_;  // buffer for bytes of the file
    std::string_view run_;          // the contiguous bytes that come next
    std::size_t left_;              // bytes left of all parts together
};

}  // namespace web
