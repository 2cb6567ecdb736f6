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
#include "http_parser.h"
#include "request.h"
#include "response.h"

namespace web {

/// The application: fills in the response to one request.
using Handler = void (*)(const Request& request, Response& response);

/// One client's state machine: bytes in, bytes out, and what it waits for. Makes no system call, so
/// whoever drives it decides when to receive, when to send and how long to wait.
class Connection {
public:
    enum class Phase : std::uint8_t {
        idle,     // between requests
        head,     // has part of a head
        body,     // has the head, waits for the body
        sending,  // has output that was not sent yet
        linger,   // has sent its last answer: what still comes is dropped
        done,     // close
    };

    /// `pool` must outlive the connection.
    Connection(Handler handler, BufferPool& pool) : handler_(handler), pool_(&pool) {}

    Phase phase() const;

    /// Where received bytes go. Valid until the next call of any other function.
    std::span<char> receive_buffer();

    /// That many bytes were received there. Answers every request that is whole.
    void received(std::size_t count);

    /// The peer will send no more: what is whole is answered, then the connection is done.
    void end_of_input();

    bool has_output() const { return !output_.empty() || !echo_.empty(); }

    /// What to send, in order. Valid until the next call of any other function.
    std::span<const iovec> output();

    /// That many bytes of the output were sent. False if some are left; otherwise goes on with
    /// requests that waited for that.
    bool sent(std::size_t count);

    /// The next answer is the last.
    void finish() { finishing_ = true; }

private:
    /// The least room that is worth a system call.
    static constexpr std::size_t min_room = 4 * 1024;
    /// With this much unsent, requests wait: a client that does not read costs no more.
    static constexpr std::size_t max_unsent = 64 * 1024;

    bool may_answer() const {
        return !last_answered_ && echo_.empty() && output_.size() < max_unsent;
    }
    void answer_requests();
    void return_empty(Buffer& buffer);
    bool read_head();
    void begin_body();
    void answer();
    void append(const Response& response, std::string_view connection);
    void next_request();
    void refuse(Status status);

    Handler handler_;
    BufferPool* pool_;
    // Lent by the pool while they hold something: a client that waits costs nobody a buffer.
    Buffer input_;
    Buffer output_;
    std::unique_ptr<char[]> body_;  // a body that did not come with its head
    std::size_t body_had_ = 0;
    std::string_view echo_;  // of body_, to be sent after output_
    HttpParser parser_;
    Request request_;
    std::array<iovec, 2> parts_{};
    bool head_whole_ = false;
    bool finishing_ = false;
    bool last_answered_ = false;
    bool input_ended_ = false;
};

}  // namespace web
