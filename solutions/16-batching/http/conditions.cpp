#include "conditions.h"

#include "date.h"
#include "fields.h"

namespace web {
namespace {

constexpr std::string_view if_match = "if-match";
constexpr std::string_view if_none_match = "if-none-match";
constexpr std::string_view weak = "W/";

std::optional<std::chrono::sys_seconds> date_of(std::optional<std::string_view> value) {
    return value ? parse_date(*value) : std::nullopt;
}

// RFC 9110 §8.8.3.2. Our tags are strong. A weak tag with the same text only promises equivalent
// content, which is not enough to combine parts. A version without a tag is the same as none.
bool is_same(std::string_view theirs, const std::optional<EntityTag>& ours, bool weakly) {
    if (weakly && theirs.starts_with(weak)) theirs.remove_prefix(weak.size());
    return ours && theirs == ours->text();
}

}  // namespace

Conditions::Conditions(std::string_view fields) : fields_(fields) {
    while (const auto field = take_field(fields)) {
        const auto& [name, value] = *field;
        has_match_ |= same_name(name, if_match);
        has_none_match_ |= same_name(name, if_none_match);
        if (same_name(name, "accept-encoding")) codings_.add(value);
        if (same_name(name, "if-modified-since")) modified_since_ = value;
        if (same_name(name, "if-unmodified-since")) unmodified_since_ = value;
        if (same_name(name, "range")) range_ = value;
        if (same_name(name, "if-range")) if_range_ = value;
    }
}

// Range applies to GET only (RFC 9110 §14.2), and is evaluated last.
Verdict Conditions::evaluate(Representation& of, bool is_get) const {
    if (precondition_fails(of)) return Verdict::precondition_failed;
    if (is_not_modified(of)) return Verdict::not_modified;
    if (!is_get || !range_ || !if_range_matches(of)) return Verdict::whole;
    const auto part = parse_range(*range_, of.version.size);
    if (!part && part.error() == RangeError::unsatisfiable) return Verdict::not_satisfiable;
    if (!part) return Verdict::whole;
    of.part = *part;
    return Verdict::part;
}

// A tag takes precedence over a date, whether it matches or not. A date is ignored if the file has
// none (§13.1.3, §13.1.4). The same applies below.
bool Conditions::precondition_fails(const Representation& of) const {
    if (has_match_) return !lists_tag(if_match, of.tag, false);
    const auto date = date_of(unmodified_since_);
    return date && of.modified() && *of.modified() > *date;
}

bool Conditions::is_not_modified(const Representation& of) const {
    if (has_none_match_) return lists_tag(if_none_match, of.tag, true);
    const auto date = date_of(modified_since_);
    return date && of.modified() && *of.modified() <= *date;
}

// RFC 9110 §13.1.5: a date must be exactly the one that we sent. It is strong, because we send it
// only when no other change can have the same date any more (§8.8.2.2).
bool Conditions::if_range_matches(const Representation& of) const {
    if (!if_range_ || is_same(*if_range_, of.tag, false)) return true;
    return of.modified() && parse_date(*if_range_) == of.modified();
}

// The lists of all lines with that name form one list (RFC 9110 §5.3).
bool Conditions::lists_tag(std::string_view name, const std::optional<EntityTag>& tag,
                           bool weakly) const {
    std::string_view fields = fields_;
    while (auto field = take_field(fields)) {
        if (!same_name(field->name, name)) continue;
        if (field->value == "*") return true;
        while (const auto element = take_element(field->value)) {
            if (is_same(*element, tag, weakly)) return true;
        }
    }
    return false;
}

}  // namespace web
