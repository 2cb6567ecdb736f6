// GIVEN(5.2). Add driver.cpp to CMakeLists.txt once Connection has what it calls.
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

/// Does for one connection what it wants, and waits for each call. Belongs to the thread that
/// accepted the client.
class Driver {
public:
    /// A client that sends and takes nothing for this long is let go.
    static constexpr std::chrono::seconds idle_limit{10};
    /// The same while the server is being stopped.
    static constexpr std::chrono::seconds stop_limit{1};
    /// How long a client may go on sending after its last answer.
    static constexpr std::chrono::seconds linger_limit{2};

    /// `handler` and `stopping` must outlive the driver.
    Driver(Fd socket, Handler& handler, const std::atomic<bool>& stopping);

    /// Until the connection wants nothing more. Whatever the peer does ends only this connection.
    void serve();

private:
    bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

    /// Calls `transfer` again until it did something or the client idled too long.
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
