#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "body_parser.h"
#include "body_sink.h"
#include "buffer.h"
#include "buffer_pool.h"
#include "common_headers.h"
#include "handler.h"
#include "http_parser.h"
#include "interest.h"
#include "log_lines.h"
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

/// What the connection's caller has to do for it next, and how far it has come.
struct ConnectionState {
    Waiting waiting = Waiting::request;
    Interest interest = Interest::receive;
    std::uint32_t moved = 0;   // bytes of bodies and answers moved, modulo 2^32
    std::uint32_t bodies = 0;  // number of bodies begun

    bool operator==(const ConnectionState&) const = default;
};

/// One client's state machine: it takes bytes, produces bytes, and reports what it wants next. It
/// makes no system calls; its driver decides when to receive, when to send and how long to wait.
class Connection {
public:
    /// The first three must outlive the connection. Without a log nothing is logged. The scheme is
    /// https if the bytes come over TLS.
    Connection(Handler& handler, BufferPool& pool, const CommonHeaders& common_headers,
               std::unique_ptr<ClientLog> log = nullptr, Scheme scheme = Scheme::http)
        : handler_(&handler), pool_(&pool), common_headers_(&common_headers), log_(std::move(log)) {
        request_.scheme = scheme;
    }
    Connection(Connection&&) = default;
    Connection& operator=(Connection&&) = delete;
    ~Connection() { release_buffers(); }

    ConnectionState state() const;

    /// The space to receive bytes into. Valid until the next call of any other function.
    std::span<char> receive_buffer();

    /// Call after `count` bytes were received into receive_buffer(). Answers the requests received
    /// so far.
    void received(std::size_t count);

    /// Call when nothing was received into receive_buffer().
    void received_nothing() { release_idle_input(); }

    /// The peer will send no more. Complete requests are still answered; after that the connection
    /// is to be closed.
    void end_of_input();

    /// Memory ran out in one of these functions or in the handler. The next answer reports that
    /// (503) and is the last. An answer that has begun is cut short.
    void out_of_memory();

    bool has_output() const { return !output_.empty() || has_large_body(); }

    /// Valid until the next call of any other function.
    Output output();

    /// `count` bytes of the output were sent. Returns whether that was all of it. If so, there may
    /// be new output, because waiting requests are answered then.
    bool sent(std::size_t count);

    /// An answer has begun, whether or not it is complete.
    bool response_started() const { return reply_ > Reply::later; }

    /// An answer has begun and is not complete yet.
    bool response_incomplete() const { return response_started() && reply_ != Reply::all; }

    bool holds_buffers() const { return input_ || output_; }

    /// To be called before the connection is dropped.
    void release_buffers();

    /// Makes the next answer the last.
    void close_after_next() { closing_ = true; }

    /// The client is dropped. A request that has begun to arrive is logged, because it will never
    /// be answered.
    void abort() {
        if (log_) log_aborted_request();
    }

private:
    /// The minimum space that is worth a system call, and more than a TLS record.
    static constexpr std::size_t min_receive_size = 32 * 1024;
    /// While this many bytes are unsent, no further request is answered, so a client that doesn't
    /// read has bounded memory.
    static constexpr std::size_t max_unsent = 64 * 1024;
    /// A piece of an answer longer than this is sent from where it is. Shorter ones are copied, so
    /// that one system call sends several.
    static constexpr std::size_t max_copied = 16 * 1024;
    /// At most this many bytes of an unwanted body are read and skipped to keep the connection
    /// open.
    static constexpr std::size_t max_skipped = 256 * 1024;

    /// How much of the answer to the current request has been given.
    enum class Reply : std::uint8_t {
        none,
        later,   // nothing: the answer is made when the body has ended
        bytes,   // its head: the pieces that follow are its body
        chunks,  // its head: each piece that follows is a chunk of its body
        all,
    };

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
    bool has_large_body() const {
        return (pending_body_.size() | chunk_end_.size() | file_.size) > 0;
    }
    bool has_space() const { return !has_large_body() && output_.size() < max_unsent; }
    bool may_answer() const { return phase_ != Phase::draining && has_space(); }
    bool sent_large_body(std::size_t count);
    void answer_requests();
    void enlarge_input();
    void release_idle_input() {
        if (input_.empty()) [[likely]]
            return release_input();
        shrink_input();
    }
    void release_input() {
        if (input_) pool_->release(std::move(input_));
    }
    void shrink_input();
    bool has_head();
    bool read_head();
    void begin_request();
    void begin_body();
    bool end_request();
    bool take_body();
    void forward(const BodyParser::Piece& piece);
    void skip(std::size_t count);
    void end_body();
    void start_answer();
    void answer(Response& response);
    void end_answer(const Response& response);
    void send_piece(std::string_view bytes, bool stays);
    void append(const Response& response, std::string_view connection);
    void append_size(std::size_t size);
    Buffer& out();
    void next_request();
    void refuse(Status status);
    void close_input();
    std::size_t body_size(const Response& response) const;
    void log_request(const Response& response);
    void log_refusal(Status status, std::size_t bytes);
    void log_aborted_request();

    Handler* handler_;
    BufferPool* pool_;
    const CommonHeaders* common_headers_;
    std::unique_ptr<ClientLog> log_;
    // Lent by the pool while they hold bytes, so an idle client takes up no buffer.
    Buffer input_;
    Buffer output_;
    std::size_t body_received_ = 0;
    // One of these may have to be sent after output_:
    std::string_view pending_body_;  // of a sink, perhaps a view of input_; or a literal
    FileRange file_;
    std::string_view chunk_end_;  // sent after pending_body_
    std::size_t used_ = 0;        // bytes of input_ to consume once pending_body_ is sent
    BodySinkPtr sink_;            // takes the body of the current request, if the handler wants it
    HttpParser parser_;
    BodyParser body_;
    Request request_;
    std::array<iovec, 3> parts_{};
    std::uint32_t moved_ = 0;
    std::uint32_t bodies_ = 0;
    Reply reply_ = Reply::none;
    Phase phase_ = Phase::head;
    bool closing_ = false;
    bool input_ended_ = false;
};

}  // namespace web
