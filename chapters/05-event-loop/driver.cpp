// GIVEN(5.2). Add driver.cpp to CMakeLists.txt once Connection has the functions called here.
#include "driver.h"

#include <new>
#include <utility>

namespace web {

Driver::Driver(Fd socket, Handler& handler, const std::atomic<bool>& stopping)
    : socket_(std::move(socket)), connection_(handler), stopping_(stopping) {}

void Driver::serve() {
    for (;;) {
        const ConnectionState state = connection_.state();
        if (state.waiting == Waiting::nothing) return;
        try {
            if (state.waiting == Waiting::peer_close) return linger();
            if (!(state.interest == Interest::send ? send_some() : receive_some())) return;
        } catch (const std::bad_alloc&) {
            connection_.out_of_memory();
        }
    }
}

template <typename Transfer>
std::expected<std::size_t, IoError> Driver::until_idle_limit(Transfer transfer) {
    std::chrono::milliseconds waited{0};
    while (waited < (stopping() ? stop_limit : idle_limit)) {
        const auto count = transfer();
        if (count || count.error() != IoError::timed_out) return count;
        waited += wait_slice;
    }
    return std::unexpected(IoError::timed_out);
}

bool Driver::receive_some() {
    const auto got =
        until_idle_limit([&] { return receive(socket_, connection_.receive_buffer()); });
    if (!got) return false;
    if (*got == 0) connection_.end_of_input();
    if (*got > 0) connection_.received(*got);
    return true;
}

bool Driver::send_some() {
    const auto took = until_idle_limit([&] { return send(socket_, connection_.output().bytes); });
    if (took) connection_.sent(*took);
    return took.has_value();
}

// If close() leaves received bytes unread, TCP sends RST, which can destroy the answer before it
// arrives (RFC 9112 §9.6). Therefore shut down our side first, then read and discard what still
// arrives.
void Driver::linger() {
    half_close(socket_);
    const auto end = std::chrono::steady_clock::now() + linger_limit;
    while (std::chrono::steady_clock::now() < end && !stopping()) {
        const auto got = receive(socket_, connection_.receive_buffer());
        if (got ? *got == 0 : got.error() == IoError::failed) return;
    }
}

}  // namespace web
