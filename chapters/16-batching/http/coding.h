#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace web {

/// Content codings (RFC 9110 §8.4.1), in our order of preference.
enum class Coding : std::uint8_t { br, zstd, gzip, identity };

inline constexpr std::size_t coding_count = 4;
/// Length of the longest suffix in bytes.
inline constexpr std::size_t max_coding_suffix = 4;

/// The coding's name in Content-Encoding.
std::string_view coding_name(Coding coding);

/// The suffix of the name of a file with this coding, such as ".gz"; empty for identity.
std::string_view coding_suffix(Coding coding);

/// The codings that a client accepts, and their weights (RFC 9110 §12.5.3). Without an
/// Accept-Encoding field the client gets the plain form.
class AcceptedCodings {
public:
    /// Adds the value of one field line. The lists of several lines form one list.
    void add(std::string_view value);

    /// The coded forms that this client accepts and does not rank below the plain one, best first.
    std::span<const Coding> preferred();

private:
    static constexpr std::uint16_t unsaid = 0xffff;

    void set(std::string_view name, std::uint16_t weight);
    std::uint16_t weight_of(Coding coding) const;

    std::array<std::uint16_t, coding_count> weights_{unsaid, unsaid, unsaid,
                                                     unsaid};  // in thousandths
    std::uint16_t others_ = unsaid;                            // of `*`
    std::array<Coding, coding_count> preferred_{};
};

}  // namespace web
