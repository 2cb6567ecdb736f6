#include "connection.h"

#include <cstdlib>
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
    // TODO(1.2): receive a byte at a time until CRLF, then call parse_request_line(). Skip one
    // empty line before the request line (RFC 9112 §2.2). Refuse a line feed without its carriage
    // return. Refuse a line longer than max_request_line as soon as that is certain.
    return refuse(Status::not_implemented);
}

Connection::Reading Connection::read_fields() {
    // TODO(1.2): the same for the field lines: receive until the empty line, at most max_fields
    // bytes, then call parse_fields().
    return refuse(Status::not_implemented);
}

Connection::Reading Connection::read_body() {
    // TODO(1.5): receive content_length bytes into request_.body. If the client expects it, send
    // "HTTP/1.1 100 Continue" first, unless its body has already arrived (has_unread).
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
    // TODO(1.1): use until_idle_limit() and receive(). Return false when the client has
    // disconnected.
    byte = 0;
    return false;
}

bool Connection::send_all(std::string_view bytes) {
    // TODO(1.1): send all bytes, one per call. Return false when the client has disconnected.
    return bytes.empty();
}

// If close() leaves received bytes unread, TCP sends RST, which can destroy the answer before it
// arrives (RFC 9112 §9.6). Therefore shut down our side first, then read and discard what still
// arrives.
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
