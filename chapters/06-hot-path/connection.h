#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "buffer.h"
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

    explicit Connection(Handler handler) : handler_(handler) {}

    Phase phase() const;

    /// Where received bytes go. Valid until the next call of any other function.
    std::span<char> receive_buffer();

    /// That many bytes were received there. Answers every request that is whole.
    void received(std::size_t count);

    /// The peer will send no more: what is whole is answered, then the connection is done.
    void end_of_input();

    /// What to send, in order. Valid until the next call of any other function.
    std::span<const iovec> output();

    /// That many bytes of the output were sent. Goes on with requests that waited for it.
    void sent(std::size_t count);

    /// The next answer is the last.
    void finish() { finishing_ = true; }

private:
    /// A chunk of input: most requests fit, with their neighbours if they are pipelined.
    static constexpr std::size_t chunk = 16 * 1024;
    /// With this much unsent, requests wait: a client that does not read costs no more.
    static constexpr std::size_t max_unsent = 64 * 1024;

    void answer_requests();
    bool read_head();
    void begin_body();
    void answer();
    void append_head(const Response& response, std::string_view connection);
    void append_body(std::string_view body);
    void next_request();
    void refuse(Status status);
    bool has_unsent() const { return !output_.empty() || !echo_.empty(); }

    Handler handler_;
    // TODO(6): thousands of these wait with a buffer each. Let a pool of the worker lend them while
    // they hold something (buffer_pool.h is yours to write), and take back the warmest first.
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
