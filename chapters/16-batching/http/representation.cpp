#include "representation.h"

#include <algorithm>
#include <charconv>

#include "date.h"

namespace web {
namespace {

/// There is space for the 20 digits of any std::uint64_t.
char* format_number(char* out, std::uint64_t number) {
    return std::to_chars(out, out + 20, number).ptr;
}

}  // namespace

EntityTag::EntityTag(const FileVersion& version, Coding coding) {
    char* out = text_.data();
    char* const end = out + text_.size();
    *out++ = '"';
    out = std::to_chars(out, end, version.modified_ns, 16).ptr;
    *out++ = '-';
    out = std::to_chars(out, end, version.size, 16).ptr;
    const std::string_view suffix = coding_suffix(coding);
    out += suffix.copy(out, suffix.size());
    *out++ = '"';
    size_ = static_cast<std::size_t>(out - text_.data());
}

// RFC 9110 §8.8.2.1: Last-Modified must not be later than the answer's Date, which is old if the
// loop has been busy for seconds.
char* Representation::format(char* out, const CommonHeaders& common_headers) const {
    const auto append = [&out](std::string_view piece) { out += piece.copy(out, piece.size()); };
    if (const auto when = modified()) {
        constexpr std::string_view name = "Last-Modified: ";
        char* const last_modified = out + name.size();
        append("Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\n");
        write_date(last_modified, std::min(*when, common_headers.date()));
    }
    out = format_identity(out);
    append("Accept-Ranges: bytes\r\n");
    if (coding != Coding::identity) {
        append("Content-Encoding: ");
        append(coding_name(coding));
        append("\r\n");
    }
    if (part) {
        append("Content-Range: bytes ");
        out = format_number(out, part->first);
        append("-");
        out = format_number(out, part->first + part->size - 1);
        append("/");
        out = format_number(out, version.size);
        append("\r\n");
    }
    return out;
}

// A client applies the fields of a 304 to the answer that it has stored, but some decode the empty
// body if it has a Content-Encoding. A date adds nothing to a tag (RFC 9110 §15.4.5).
char* Representation::format_identity(char* out) const {
    const auto append = [&out](std::string_view piece) { out += piece.copy(out, piece.size()); };
    if (tag) {
        append("ETag: ");
        append(tag->text());
        append("\r\n");
    }
    if (has_forms) append("Vary: Accept-Encoding\r\n");
    return out;
}

}  // namespace web
