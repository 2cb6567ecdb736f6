// However the bytes of a connection are cut, and however its answers are taken, the answers are the
// same as to all of them at once.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <print>
#include <string>
#include <string_view>
#include <type_traits>

#include "app.h"
#include "connection.h"
#include "verdict.h"

namespace web {
class BufferPool;
}

namespace {

using Connection = web::Connection;
using PieceSize = std::function<std::size_t()>;

constexpr std::string_view interim = "HTTP/1.1 100 Continue\r\n\r\n";

template <typename C>
struct OnItsOwn {
    C connection{web::respond};
};

/// From chapter 6 on buffers are lent.
template <typename Pool>
struct OfAPool {
    Pool pool;
    Connection connection{web::respond, pool};
};

using Client = std::conditional_t<std::is_constructible_v<Connection, web::Handler>,
                                  OnItsOwn<Connection>, OfAPool<web::BufferPool>>;

/// What a socket does that takes some of the output, then some more.
void take_output(Connection& connection, const PieceSize& next_size, std::string& answers) {
    for (auto output = connection.output(); !output.empty(); output = connection.output()) {
        std::string offered;
        for (const iovec& part : output)
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
    while (!text.empty() && connection.phase() != Connection::Phase::linger) {
        const auto room = connection.receive_buffer();
        const std::size_t most = std::min(text.size(), room.size());
        const std::size_t wanted = std::clamp<std::size_t>(next_size(), 1, most);
        const std::size_t size = text.copy(room.data(), wanted);
        text.remove_prefix(size);
        connection.received(size);
        take_output(connection, next_size, answers);
    }
    answers += std::format("phase {}", static_cast<int>(connection.phase()));
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

void must_be_same(std::string_view how, const std::string& whole, std::string pieces) {
    pieces = without_interim(std::move(pieces));
    if (whole == pieces) return;
    std::println(stderr, "in one piece:\n{}\n\n{}:\n{}", whole, how, pieces);
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t bytewise_limit = 1024;  // more would take too long
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (text.contains("100 Continue")) return 0;  // an echo of it could be taken for one
    const std::string whole = without_interim(answers_to(text, [] { return SIZE_MAX; }));
    fuzz::report(text, whole);
    if (size <= bytewise_limit) {
        must_be_same("byte by byte", whole, answers_to(text, [] { return 1; }));
    }
    std::uint64_t random = fuzz::hash_of(text);
    const auto next_size = [&] {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::size_t>(random >> 33) % (size / 4 + 1);
    };
    must_be_same("in some pieces", whole, answers_to(text, next_size));
    return 0;
}
