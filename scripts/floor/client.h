#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace web {

/// What the floor knows of one client: where in a request its bytes stand, and what it is owed.
/// Makes no system call.
class Client {
public:
    /// How many requests end within these bytes, which may start and stop anywhere in a request.
    /// Nothing when a head grows past `head_limit`: the client is then to be closed.
    std::optional<std::size_t> count_ends(std::string_view bytes);

    /// Bytes of answers that the socket has not taken yet.
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
