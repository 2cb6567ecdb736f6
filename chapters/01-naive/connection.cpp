#include "connection.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "http_parser.h"

namespace web {

Connection::Connection(Fd socket, Handler& handler, const std::atomic<bool>& stopping)
    : socket_(std::move(socket)), handler_(handler), stopping_(stopping) {}

void Connection::serve() try {
    const Reading reading = read_request();
    if (reading == Reading::gone) return;
    if (reading == Reading::complete) handler_.respond(request_, response_);
    const bool with_body = request_.method != Method::head;
    if (!send_all(response_.text(with_body))) return;
    if (reading == Reading::refused || has_unread(socket_)) linger();
} catch (const std::bad_alloc&) {
    if (send_all(service_unavailable)) linger();
}

Connection::Reading Connection::read_request() {
    if (auto reading = read_request_line(); reading != Reading::complete) return reading;
    if (auto reading = read_fields(); reading != Reading::complete) return reading;
    return read_body();
}

Connection::Reading Connection::read_request_line() {
    // TODO(1): receive a byte at a time until CRLF, then parse_request_line(). One empty line
    // before it is skipped (RFC 9112 §2.2), a line feed without its carriage return is refused, and
    // so is a line longer than max_request_line as soon as that is certain.
    return refuse(Status::not_implemented);
}

Connection::Reading Connection::read_fields() {
    // TODO(1): the same until the empty line, then parse_fields(). At most max_fields bytes.
    return refuse(Status::not_implemented);
}

Connection::Reading Connection::read_body() {
    // TODO(1): content_length bytes into request_.body. A client that expects it is told
    // "HTTP/1.1 100 Continue" first, unless its body is already here (has_unread). Memory that
    // std::malloc has none of is a std::bad_alloc: serve() knows what to say to that.
    return Reading::complete;
}

Connection::Reading Connection::refuse(Status status) {
    response_.error(status);
    return Reading::refused;
}

template <typename Transfer>
std::expected<std::size_t, IoError> Connection::until_idle_limit(Transfer transfer) {
    std::chrono::milliseconds waited{0};
    while (waited < (stopping() ? stop_limit : idle_limit)) {
        const auto count = transfer();
        if (count || count.error() != IoError::timed_out) return count;
        waited += wait_slice;
    }
    return std::unexpected(IoError::timed_out);
}

bool Connection::receive_byte(char& byte) {
    // TODO(1): until_idle_limit() and receive(). False when the client is gone.
    byte = 0;
    return false;
}

bool Connection::send_all(std::string_view bytes) {
    // TODO(1): every byte of it, one a call. False when the client is gone.
    return bytes.empty();
}

// close() with bytes unread makes TCP send RST, which can destroy the answer on its way
// (RFC 9112 §9.6). So: say that we are done, and read what still comes.
void Connection::linger() {
    half_close(socket_);
    const auto end = std::chrono::steady_clock::now() + linger_limit;
    char unwanted[4096];
    while (std::chrono::steady_clock::now() < end && !stopping()) {
        const auto got = receive(socket_, unwanted);
        if (got ? *got == 0 : got.error() == IoError::failed) return;
    }
}

}  // namespace web
