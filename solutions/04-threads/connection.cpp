#include "connection.h"

#include <array>
#include <new>
#include <utility>

namespace web {
namespace {

iovec part(std::string_view bytes) {
    return {const_cast<char*>(bytes.data()), bytes.size()};
}

/// The parts that are left after `count` bytes were sent.
std::span<iovec> advance(std::span<iovec> parts, std::size_t count) {
    while (!parts.empty() && count >= parts.front().iov_len) {
        count -= parts.front().iov_len;
        parts = parts.subspan(1);
    }
    if (!parts.empty()) {
        parts.front().iov_base = static_cast<char*>(parts.front().iov_base) + count;
        parts.front().iov_len -= count;
    }
    return parts;
}

}  // namespace

Connection::Connection(Fd socket, Handler& handler, const std::atomic<bool>& stopping)
    : handler_(handler), stopping_(stopping), socket_(std::move(socket)) {}

void Connection::serve() try {
    const Reading reading = read_request();
    if (reading == Reading::gone) return;
    if (reading == Reading::complete) handler_.respond(request_, response_);
    const bool with_body = request_.method != Method::head;
    std::array<char, Response::max_head> head;
    std::array parts{part(response_.format_head(head)), part(response_.body())};
    if (!send_all(std::span(parts).first(with_body ? 2 : 1))) return;
    if (reading == Reading::refused || has_unread(socket_)) linger();
} catch (const std::bad_alloc&) {
    iovec unavailable = part(service_unavailable);
    if (send_all({&unavailable, 1})) linger();
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
        iovec go_on = part("HTTP/1.1 100 Continue\r\n\r\n");
        if (!send_all({&go_on, 1})) return Reading::gone;
    }
    body_.resize_and_overwrite(size,
                               [&](char* body, std::size_t) { return receive_body({body, size}); });
    request_.body = body_;
    return body_.size() == size ? Reading::complete : Reading::gone;
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

// Receives directly into the string, which avoids a chunk on the stack and a copy.
bool Connection::receive_chunk() {
    const std::size_t received_before = buffer_.size();
    buffer_.resize_and_overwrite(received_before + chunk_size, [&](char* bytes, std::size_t size) {
        const std::span<char> space(bytes + received_before, size - received_before);
        return received_before +
               until_idle_limit([&] { return receive(socket_, space); }).value_or(0);
    });
    return buffer_.size() > received_before;
}

bool Connection::send_all(std::span<iovec> parts) {
    while (!parts.empty()) {
        const auto sent = until_idle_limit([&] { return send(socket_, parts); });
        if (!sent) return false;
        parts = advance(parts, *sent);
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
