// However the bytes of a connection are cut, and however its answers are taken, the answers are the
// same as to all of them at once.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <format>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "app.h"
#include "connection.h"
#include "pieces.h"

namespace web {
class BufferPool;
}

namespace {

using Connection = web::Connection;
using fuzz::PieceSize;

constexpr std::string_view interim = "HTTP/1.1 100 Continue\r\n\r\n";

template <typename C>
struct OnItsOwn {
    std::unique_ptr<web::Handler> handler = web::make_app();
    C connection{*handler};
};

/// From chapter 6 on buffers are lent.
template <typename Pool>
struct OfAPool {
    Pool pool;
    std::unique_ptr<web::Handler> handler = web::make_app();
    Connection connection{*handler, pool};
};

using Client = std::conditional_t<std::is_constructible_v<Connection, web::Handler&>,
                                  OnItsOwn<Connection>, OfAPool<web::BufferPool>>;

/// What a socket does that takes some of the output, then some more.
void take_output(Connection& connection, const PieceSize& next_size, std::string& answers) {
    while (connection.has_output()) {
        std::string offered;
        for (const iovec& part : connection.output().bytes)
            offered.append(static_cast<const char*>(part.iov_base), part.iov_len);
        const std::size_t taken = std::clamp<std::size_t>(next_size(), 1, offered.size());
        answers.append(offered, 0, taken);
        connection.sent(taken);
    }
}

/// All answers to these bytes, and what the connection waits for then.
std::string answers_to(std::string_view text, const PieceSize& next_size) {
    Client client;
    Connection& connection = client.connection;
    std::string answers;
    while (!text.empty() && connection.wants().wait != web::Wait::end) {
        const auto room = connection.room();
        const std::size_t most = std::min(text.size(), room.size());
        const std::size_t wanted = std::clamp<std::size_t>(next_size(), 1, most);
        const std::size_t size = text.copy(room.data(), wanted);
        text.remove_prefix(size);
        connection.received(size);
        take_output(connection, next_size, answers);
    }
    answers += std::format("waits {}", static_cast<int>(connection.wants().wait));
    connection.end_of_input();
    take_output(connection, next_size, answers);
    return answers;
}

/// Whether the body is asked for depends on how much of it came with the head.
std::string without_interim(std::string answers) {
    for (std::size_t at = 0; (at = answers.find(interim, at)) != std::string::npos;)
        answers.erase(at, interim.size());
    return answers;
}

std::string judge(std::string_view text, const PieceSize& next_size) {
    return without_interim(answers_to(text, next_size));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (text.contains("100 Continue")) return 0;  // an echo of it could be taken for one
    fuzz::cut(text, judge);
    return 0;
}
