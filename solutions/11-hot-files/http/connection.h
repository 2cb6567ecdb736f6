#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "buffer.h"
#include "buffer_pool.h"
#include "common_headers.h"
#include "handler.h"
#include "http_parser.h"
#include "interest.h"
#include "open_file.h"
#include "output.h"
#include "request.h"
#include "response.h"

namespace web {

/// What a connection waits for.
enum class Waiting : std::uint8_t {
    request,     // the first byte of the next request
    head,        // the rest of a head
    body,        // the rest of a body
    writable,    // the socket to be writable, to send answers
    peer_close,  // the peer to close, after the last answer; further input is dropped
    nothing,     // nothing: close the connection
};

/// What the driver of a connection has to do for it. Whenever it changes, a new deadline starts.
struct ConnectionState {
    Waiting waiting = Waiting::request;
    Interest interest = Interest::receive;
    std::uint32_t progress = 0;

    bool operator==(const ConnectionState&) const = default;
};

/// One client's state machine: it takes bytes, produces bytes, and reports what it wants next. It
/// makes no system calls; its driver decides when to receive, when to send and how long to wait.
class Connection {
public:
    /// `handler`, `pool` and `opening` must outlive the connection.
    Connection(Handler& handler, BufferPool& pool, const CommonHeaders& common_headers)
        : handler_(&handler), pool_(&pool), common_headers_(&common_headers) {}

    ConnectionState state() const;

    /// The space to receive bytes into. Valid until the next call of any other function.
    std::span<char> receive_buffer();

    /// `count` bytes, perhaps 0, were received into receive_buffer(). Answers every complete
    /// request.
    void received(std::size_t count);

    /// The peer will send no more. Complete requests are still answered; after that the connection
    /// is to be closed.
    void end_of_input();

    /// Memory ran out in one of these functions or in the handler. The next answer reports that
    /// (503) and is the last.
    void out_of_memory();

    bool has_output() const { return !output_.empty() || has_large_body(); }

    /// Valid until the next call of any other function.
    Output output();

    /// `count` bytes of the output were sent. Returns whether that was all of it. If so, there may
    /// be new output, because waiting requests are answered then.
    bool sent(std::size_t count);

    /// Makes the next answer the last.
    void close_after_next() { closing_ = true; }

private:
    /// The minimum space that makes a system call worthwhile.
    static constexpr std::size_t min_receive_size = 4 * 1024;
    /// While this many bytes are unsent, no further request is answered, so a client that doesn't
    /// read has bounded memory.
    static constexpr std::size_t max_unsent = 64 * 1024;

    /// What the peer's next bytes belong to. Whether the next answer is to be the last (closing_)
    /// and whether the peer has closed (input_ended_) are independent of it.
    ///
    ///           head complete
    ///        ,-------------------.
    ///        |                   v
    ///      head                 body
    ///      | ^                   | |
    ///      | '-------------------' |
    ///      |  answered, body read  |
    ///      '-----------.-----------'
    ///                  v  last answer queued, request refused, or out of memory
    ///               draining
    enum class Phase : std::uint8_t {
        head,      // of the next request
        body,      // of the current request
        draining,  // of nothing: input is dropped
    };

    Waiting waiting_for() const;
    bool has_large_body() const { return (pending_body_.size() | file_.size) > 0; }
    bool may_answer() const {
        return phase_ != Phase::draining && !has_large_body() && output_.size() < max_unsent;
    }
    bool sent_large_body(std::size_t count);
    void answer_requests();
    void release_empty_buffers(Buffer& buffer);
    bool read_head();
    void begin_body();
    void answer();
    void append(const Response& response, std::string_view connection);
    void next_request();
    void refuse(Status status);

    Handler* handler_;
    BufferPool* pool_;
    const CommonHeaders* common_headers_;
    // Lent by the pool while they hold bytes, so an idle client takes up no buffer.
    Buffer input_;
    Buffer output_;
    std::unique_ptr<char[]> body_;  // a body that did not arrive with its head
    std::size_t body_received_ = 0;
    // One of these may have to be sent after output_:
    std::string_view pending_body_;  // points into body_ or at a literal
    FileRange file_;
    HttpParser parser_;
    Request request_;
    std::array<iovec, 2> parts_{};
    std::uint32_t progress_ = 0;
    Phase phase_ = Phase::head;
    bool closing_ = false;
    bool input_ended_ = false;
};

}  // namespace web
