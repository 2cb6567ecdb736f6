#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "fd.h"
#include "handler.h"
#include "http_parser.h"
#include "request.h"
#include "response.h"
#include "socket.h"

namespace web {

/// One client's connection, served from start to end by the thread that accepted it.
class Connection {
public:
    /// A client that neither sends nor receives a byte for this long is disconnected.
    static constexpr std::chrono::seconds idle_limit{10};
    /// The same while the server is being stopped.
    static constexpr std::chrono::seconds stop_limit{1};
    /// How long to keep reading from a client after its request was refused.
    static constexpr std::chrono::seconds linger_limit{2};

    /// `handler` and `stopping` must outlive the connection.
    Connection(Fd socket, Handler& handler, const std::atomic<bool>& stopping);

    /// Reads one request, answers it and closes. Nothing that the peer does, nor a failed
    /// allocation, ends more than this connection.
    void serve();

private:
    enum class Reading { complete, refused, gone };

    Reading read_request();
    Reading read_head();
    Reading read_body();
    std::size_t receive_body(std::span<char> body);
    Reading refuse(Status status);

    bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

    /// Repeats `transfer` until it succeeds, fails or the client has been idle for too long.
    template <typename Transfer>
    std::expected<std::size_t, IoError> until_idle_limit(Transfer transfer);

    bool receive_chunk();
    bool send_all(std::string_view bytes);
    void linger();

    // TODO(3.3): order these members by alignment, too.
    Fd socket_;
    Handler& handler_;
    const std::atomic<bool>& stopping_;
    std::string buffer_;  // the head, and the bytes that arrived with it
    HttpParser parser_;
    Request request_;
    Response response_;
};

}  // namespace web
