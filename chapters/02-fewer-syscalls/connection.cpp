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
    // TODO(2.2): text() copies the body. Format the head on the stack, then send head and body.
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
    std::string line;
    bool skipped_empty_line = false;
    char byte;
    // TODO(2.3): this makes one system call per byte. Receive up to 4 KiB at a time into one
    // std::string that the connection keeps, for the request line and the fields alike, and let
    // HttpParser (http_parser.h) report when the head is complete. read_fields() is then no longer
    // needed.
    while (receive_byte(byte)) {
        line += byte;
        if (line == "\r\n" && !skipped_empty_line) {  // RFC 9112 §2.2
            line.clear();
            skipped_empty_line = true;
        } else if (byte == '\n' && !line.ends_with("\r\n")) {
            return refuse(Status::bad_request);
        } else if (byte == '\n') {
            line.resize(line.size() - 2);
            if (line.size() > max_request_line) return refuse(Status::uri_too_long);
            const auto result = parse_request_line(line, request_);
            return result ? Reading::complete : refuse(result.error());
        } else if (line.size() > max_request_line + 1) {
            return refuse(Status::uri_too_long);
        }
    }
    return Reading::gone;
}

Connection::Reading Connection::read_fields() {
    std::string lines;
    char byte;
    while (receive_byte(byte)) {
        lines += byte;
        if (byte == '\n' && !lines.ends_with("\r\n")) return refuse(Status::bad_request);
        if (lines == "\r\n" || lines.ends_with("\r\n\r\n")) {
            lines.resize(lines.size() - 2);
            const auto result = parse_fields(lines, request_);
            return result ? Reading::complete : refuse(result.error());
        }
        if (lines.size() > max_fields + 1) return refuse(Status::fields_too_large);
    }
    return Reading::gone;
}

Connection::Reading Connection::read_body() {
    if (request_.content_length == 0) return Reading::complete;
    if (request_.expects_continue && !has_unread(socket_)) {
        if (!send_all("HTTP/1.1 100 Continue\r\n\r\n")) return Reading::gone;
    }
    const std::size_t size = request_.content_length;
    // TODO(2.3): receive and append each pass over every byte. Grow the string once
    // (resize_and_overwrite) and receive into it. Part of the body may have arrived with the head.
    const std::unique_ptr<char, decltype(&std::free)> body(static_cast<char*>(std::malloc(size)),
                                                           &std::free);
    if (!body) throw std::bad_alloc();
    for (std::size_t received_before = 0; received_before < size;) {
        const auto got = until_idle_limit([&] {
            return receive(socket_, {body.get() + received_before, size - received_before});
        });
        if (!got || *got == 0) return Reading::gone;
        received_before += *got;
    }
    request_.body.append(body.get(), size);
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
    const auto got = until_idle_limit([&] { return receive(socket_, {&byte, 1}); });
    return got && *got == 1;
}

bool Connection::send_all(std::string_view bytes) {
    // TODO(2.1): offer all the bytes that are left; send() returns how many the socket took.
    for (const char& byte : bytes) {
        const auto sent = until_idle_limit([&] { return send(socket_, {&byte, 1}); });
        if (!sent) return false;
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
