#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace web {

/// How a body is coded (RFC 9110 §8.4.1), in the order in which we would rather send them.
enum class Coding : std::uint8_t { br, zstd, gzip, identity };

inline constexpr std::size_t coding_count = 4;
/// Bytes of the longest suffix.
inline constexpr std::size_t max_coding_suffix = 4;

/// As Content-Encoding names it.
std::string_view coding_name(Coding coding);

/// What a file's name has behind it when its bytes are coded so: ".gz"; nothing for identity.
std::string_view coding_suffix(Coding coding);

/// Which codings a client takes, and how gladly (RFC 9110 §12.5.3). Without an Accept-Encoding
/// field it gets the plain form.
class AcceptedCodings {
public:
    /// One field line's value: the lists of several lines are one list.
    void add(std::string_view value);

    /// The coded forms that this client would rather have than the plain one, best first.
    std::span<const Coding> preferred();

private:
    static constexpr std::uint16_t unsaid = 0xffff;

    void set(std::string_view name, std::uint16_t weight);
    std::uint16_t weight_of(Coding coding) const;

    std::array<std::uint16_t, coding_count> weights_{unsaid, unsaid, unsaid,
                                                     unsaid};  // thousandths
    std::uint16_t others_ = unsaid;                            // of `*`
    std::array<Coding, coding_count> preferred_{};
};

}  // namespace web
