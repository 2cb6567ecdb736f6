#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace web {

/// The baseline's data for one client: where in a request its bytes end, and how much of its
/// answers is unsent. Makes no system call.
class Client {
public:
    /// Returns how many requests end within these bytes, which may start and stop anywhere in a
    /// request. Returns nothing if a head exceeds `head_limit`; the client must then be closed.
    std::optional<std::size_t> count_ends(std::string_view bytes);

    /// Bytes of answers that the socket has not accepted yet.
    std::size_t unsent = 0;

    static constexpr std::size_t head_limit = 128 * 1024;

private:
    std::string_view skip_head(std::string_view bytes);
    std::string_view skip_body(std::string_view bytes);

    std::string held_;  ///< A head whose end has not come.
    std::size_t body_left_ = 0;
    std::size_t ends_ = 0;
};

}  // namespace web
