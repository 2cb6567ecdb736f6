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
#include "file.h"
#include "handler.h"
#include "http_parser.h"
#include "interest.h"
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

/// What whoever drives a connection has to do for it. A new turn deserves a new deadline.
struct ConnectionState {
    Waiting waiting = Waiting::request;
    Interest interest = Interest::receive;
    std::uint32_t progress = 0;

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
    /// All three must outlive the connection.
    Connection(Handler& handler, BufferPool& pool, const CommonHeaders& common_headers)
        : handler_(&handler), pool_(&pool), common_headers_(&common_headers) {}

    ConnectionState state() const;

    /// Where received bytes go. Valid until the next call of any other function.
    std::span<char> receive_buffer();

    /// That many bytes were received there, perhaps none. Answers every request that is whole.
    void received(std::size_t count);

    /// The peer will send no more: what is whole is answered, then nothing is wanted.
    void end_of_input();

    /// Memory ran out in one of these functions, or in the handler: the next answer says so and is
    /// the last.
    void out_of_memory();

    bool has_output() const { return !output_.empty() || has_large_body(); }

    /// Valid until the next call of any other function.
    Output output();

    /// That many bytes of the output were sent. True if that was all of it: then there may be more,
    /// for requests that waited were answered.
    bool sent(std::size_t count);

    /// The next answer is the last.
    void close_after_next() { closing_ = true; }

private:
    /// The least room that is worth a system call.
    static constexpr std::size_t min_receive_size = 4 * 1024;
    /// With this much unsent, requests wait: a client that does not read costs no more.
    static constexpr std::size_t max_unsent = 64 * 1024;

    Waiting waiting_for() const;
    bool has_large_body() const { return (pending_body_.size() | file_.size) > 0; }
    bool may_answer() const {
        return !last_response_queued_ && !has_large_body() && output_.size() < max_unsent;
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
    // Lent by the pool while they hold something: a client that waits costs nobody a buffer.
    Buffer input_;
    Buffer output_;
    std::unique_ptr<char[]> body_;  // a body that did not come with its head
    std::size_t body_received_ = 0;
    // One of them may have to be sent after output_:
    std::string_view pending_body_;  // of body_, or a literal
    FileRange file_;
    HttpParser parser_;
    Request request_;
    std::array<iovec, 2> parts_{};
    std::uint32_t progress_ = 0;
    bool head_complete_ = false;
    bool closing_ = false;
    bool last_response_queued_ = false;
    bool input_ended_ = false;
};

}  // namespace web
