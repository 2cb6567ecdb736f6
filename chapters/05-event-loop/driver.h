// GIVEN(5.2). Add driver.cpp to CMakeLists.txt once Connection has the functions called here.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <expected>

#include "connection.h"
#include "fd.h"
#include "handler.h"
#include "socket.h"

namespace web {

/// Makes the blocking system calls that one connection wants. Belongs to the thread that accepted
/// the client.
class Driver {
public:
    /// A client that neither sends nor receives a byte for this long is disconnected.
    static constexpr std::chrono::seconds idle_limit{10};
    /// The same while the server is being stopped.
    static constexpr std::chrono::seconds stop_limit{1};
    /// How long to keep reading from a client after its last answer.
    static constexpr std::chrono::seconds linger_limit{2};

    /// `handler` and `stopping` must outlive the driver.
    Driver(Fd socket, Handler& handler, const std::atomic<bool>& stopping);

    /// Returns when the connection wants nothing more. Nothing that the peer does ends more than
    /// this connection.
    void serve();

private:
    bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

    /// Repeats `transfer` until it succeeds, fails or the client has been idle for too long.
    template <typename Transfer>
    std::expected<std::size_t, IoError> until_idle_limit(Transfer transfer);

    bool receive_some();
    bool send_some();
    void linger();

    Fd socket_;
    Connection connection_;
    const std::atomic<bool>& stopping_;
};

}  // namespace web
