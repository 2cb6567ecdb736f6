#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "coding.h"
#include "representation.h"

namespace web {

/// How to answer a request for a file.
enum class Verdict : std::uint8_t {
    whole,
    part,                 // 206
    not_modified,         // 304
    precondition_failed,  // 412
    not_satisfiable,      // 416
};

/// The fields of one request that determine which bytes of which form it gets. Its views point into
/// the request's fields.
class Conditions {
public:
    /// Makes one pass over all field lines.
    explicit Conditions(std::string_view fields);

    AcceptedCodings& codings() { return codings_; }

    /// Evaluates the conditions in the order of RFC 9110 §13.2.2. Sets the part in `of` if only a
    /// part is to be sent. HEAD never selects a part.
    Verdict evaluate(Representation& of, bool is_get) const;

private:
    bool precondition_fails(const Representation& of) const;
    bool is_not_modified(const Representation& of) const;
    bool if_range_matches(const Representation& of) const;
    bool lists_tag(std::string_view name, const std::optional<EntityTag>& tag, bool weakly) const;

    std::string_view fields_;
    AcceptedCodings codings_;
    bool has_match_ = false;
    bool has_none_match_ = false;
    std::optional<std::string_view> modified_since_;
    std::optional<std::string_view> unmodified_since_;
    std::optional<std::string_view> range_;
    std::optional<std::string_view> if_range_;
};

}  // namespace web
