#include "connection.h"

#include <array>
#include <new>
#include <utility>

namespace web {

Connection::Connection(Fd socket, Handler& handler, const std::atomic<bool>& stopping)
    : socket_(std::move(socket)), handler_(handler), stopping_(stopping) {}

void Connection::serve() try {
    const Reading reading = read_request();
    if (reading == Reading::gone) return;
    if (reading == Reading::complete) handler_.respond(request_, response_);
    const bool with_body = request_.method != Method::head;
    // TODO(3.1): this takes two system calls and sends two segments. Put the head and the body into
    // an array of iovec and send them together. An answer to HEAD has only one part.
    std::array<char, Response::max_head> head;
    if (!send_all(response_.format_head(head))) return;
    if (with_body && !send_all(response_.body())) return;
    if (reading == Reading::refused || has_unread(socket_)) linger();
} catch (const std::bad_alloc&) {
    if (send_all(service_unavailable)) linger();
}

Connection::Reading Connection::read_request() {
    if (auto reading = read_head(); reading != Reading::complete) return reading;
    return read_body();
}

Connection::Reading Connection::read_head() {
    while (receive_chunk()) {
        const auto progress = parser_.parse(buffer_, request_);
        if (!progress) return refuse(progress.error());
        if (*progress == HttpParser::Progress::complete) return Reading::complete;
    }
    return Reading::gone;
}

Connection::Reading Connection::read_body() {
    const std::size_t size = request_.content_length;
    if (size == 0) return Reading::complete;
    if (request_.expects_continue && buffer_.size() == parser_.head_size()) {
        if (!send_all("HTTP/1.1 100 Continue\r\n\r\n")) return Reading::gone;
    }
    request_.body.resize_and_overwrite(
        size, [&](char* body, std::size_t) { return receive_body({body, size}); });
    return request_.body.size() == size ? Reading::complete : Reading::gone;
}

// Part of the body may have arrived with the head. Returns the number of bytes of the body received
// in total.
std::size_t Connection::receive_body(std::span<char> body) {
    std::size_t received_before = buffer_.copy(body.data(), body.size(), parser_.head_size());
    while (received_before < body.size()) {
        const auto got =
            until_idle_limit([&] { return receive(socket_, body.subspan(received_before)); });
        if (!got || *got == 0) break;
        received_before += *got;
    }
    return received_before;
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

// TODO(3.3): each byte is received into the chunk and then copied into the string. Grow the string
// (resize_and_overwrite) and receive directly into it, after the bytes it already holds.
bool Connection::receive_chunk() {
    char chunk[4096];
    const auto got = until_idle_limit([&] { return receive(socket_, chunk); });
    if (!got || *got == 0) return false;
    buffer_.append(chunk, *got);
    return true;
}

bool Connection::send_all(std::string_view bytes) {
    // TODO(3.1): the socket may take the head and half of the body. Which parts are left then, and
    // where does the first of them begin?
    while (!bytes.empty()) {
        const auto sent = until_idle_limit([&] { return send(socket_, bytes); });
        if (!sent) return false;
        bytes.remove_prefix(*sent);
    }
    return true;
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
