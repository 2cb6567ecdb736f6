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
#include "file.h"
#include "handler.h"
#include "http_parser.h"
#include "interest.h"
#include "log_lines.h"
#include "request.h"
#include "response.h"

namespace web {

/// What a connection waits for.
enum class Waiting : std::uint8_t {
    request,     // the first byte of the next one
    head,        // the rest of a head
    body,        // the rest of a body
    writable,    // to send what was answered
    peer_close,  // the peer's, after the last answer: what still comes is dropped
    nothing,     // close
};

/// What whoever drives a connection has to do for it, and how far it has come.
struct ConnectionState {
    Waiting waiting = Waiting::request;
    Interest interest = Interest::receive;
    std::uint32_t moved = 0;   // bytes of bodies and answers, modulo 2^32
    std::uint32_t bodies = 0;  // that have begun

    bool operator==(const ConnectionState&) const = default;
};

/// What to send, in order: bytes, then perhaps a file.
struct Output {
    std::span<const iovec> bytes;
    const FileRange* file = nullptr;
};

/// One client's state machine: bytes in, bytes out, and what it wants next. Makes no system call,
/// so whoever drives it decides when to receive, when to send and how long to wait.
class Connection {
public:
    /// All three must outlive the connection. Without a log nothing is logged.
    Connection(Handler& handler, BufferPool& pool, const CommonHeaders& common_headers,
               std::unique_ptr<ClientLog> log = nullptr)
        : handler_(&handler),
          pool_(&pool),
          common_headers_(&common_headers),
          log_(std::move(log)) {}
    Connection(Connection&&) = default;
    Connection& operator=(Connection&&) = delete;
    ~Connection() { release_buffers(); }

    ConnectionState state() const;

    /// Where received bytes go. Valid until the next call of any other function.
    std::span<char> receive_buffer();

    /// That many bytes were received there. Answers what has come so far.
    void received(std::size_t count);

    /// Nothing was received there.
    void received_nothing() { release_idle_input(); }

    /// The peer will send no more: what is whole is answered, then nothing is wanted.
    void end_of_input();

    /// Memory ran out in one of these functions, or in the handler: the next answer says so and is
    /// the last. One that has begun ends where it is.
    void out_of_memory();

    bool has_output() const { return !output_.empty() || has_large_body(); }

    /// Valid until the next call of any other function.
    Output output();

    /// That many bytes of the output were sent. True if that was all of it: then there may be more,
    /// for requests that waited were answered.
    bool sent(std::size_t count);

    /// An answer has begun, whether or not its end is still to come.
    bool response_started() const { return reply_ > Reply::later; }

    /// It has begun, and its end is still to come.
    bool response_incomplete() const { return response_started() && reply_ != Reply::all; }

    bool holds_buffers() const { return input_ || output_; }

    /// For whoever is about to drop the connection.
    void release_buffers();

    /// The next answer is the last.
    void close_after_next() { closing_ = true; }

    /// The client is let go: a request that has begun to come is logged, for it is never answered.
    void abort() {
        if (log_) log_aborted_request();
    }

private:
    /// The least room that is worth a system call, and more than a record of TLS.
    static constexpr std::size_t min_receive_size = 32 * 1024;
    /// With this much unsent, requests wait: a client that does not read costs no more.
    static constexpr std::size_t max_unsent = 64 * 1024;
    /// A longer piece of an answer is sent from where it is. Shorter ones are copied, so that
    /// several share a call.
    static constexpr std::size_t max_copied = 16 * 1024;
    /// So much of a body that nobody wants is read for the sake of the connection.
    static constexpr std::size_t max_skipped = 256 * 1024;

    /// How much of the answer to the present request has been given.
    enum class Reply : std::uint8_t {
        none,
        later,   // none: the end of the body will tell
        bytes,   // its head: the pieces that come are its body,
        chunks,  // or each is a chunk of it
        all,
    };

    Waiting waiting_for() const;
    bool has_large_body() const {
        return (pending_body_.size() | chunk_end_.size() | file_.size) > 0;
    }
    bool may_answer() const {
        return !last_response_queued_ && !has_large_body() && output_.size() < max_unsent;
    }
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
    bool read_head();
    void begin_request();
    void begin_body();
    bool end_request();
    bool take_body();
    void forward(const BodyParser::Piece& piece);
    void skip(std::size_t count);
    void end_body();
    void start_answer();
    void answer(const Response& response);
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
    // Lent by the pool while they hold something: a client that waits costs nobody a buffer.
    Buffer input_;
    Buffer output_;
    std::size_t body_received_ = 0;
    // One of them may have to be sent after output_:
    std::string_view pending_body_;  // a sink's, perhaps of input_; or a literal
    FileRange file_;
    std::string_view chunk_end_;  // after echo_
    std::size_t used_ = 0;        // of input_, once echo_ is sent
    BodySinkPtr sink_;            // of the present request, if it wants its body
    HttpParser parser_;
    BodyParser body_;
    Request request_;
    std::array<iovec, 3> parts_{};
    std::uint32_t moved_ = 0;
    std::uint32_t bodies_ = 0;
    Reply reply_ = Reply::none;
    bool head_complete_ = false;
    bool closing_ = false;
    bool last_response_queued_ = false;
    bool input_ended_ = false;
};

}  // namespace web
