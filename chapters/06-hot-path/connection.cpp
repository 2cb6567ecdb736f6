#include "connection.h"

#include <algorithm>
#include <utility>

namespace web {
namespace {

iovec part(std::string_view bytes) {
    return {const_cast<char*>(bytes.data()), bytes.size()};
}

// RFC 9112 §9.3: HTTP/1.1 keeps the connection open unless asked to close it, and HTTP/1.0 closes
// it unless asked to keep it open.
std::string_view connection_field(const Request& request, bool last) {
    if (last) return "Connection: close\r\n";
    return request.version == Version::http_1_0 ? "Connection: keep-alive\r\n" : "";
}

}  // namespace

ConnectionState Connection::state() const {
    const Waiting waiting = waiting_for();
    return {waiting, waiting == Waiting::writable ? Interest::send : Interest::receive, progress_};
}

Waiting Connection::waiting_for() const {
    if (has_output()) return Waiting::writable;
    if (input_ended_) return Waiting::nothing;
    if (phase_ == Phase::draining) return Waiting::peer_close;
    if (phase_ == Phase::body) return Waiting::body;
    return input_.empty() ? Waiting::request : Waiting::head;
}

std::span<char> Connection::receive_buffer() {
    if (body_) return {body_.get() + body_received_, request_.content_length - body_received_};
    return input_.prepare(chunk);
}

void Connection::received(std::size_t count) {
    if (phase_ == Phase::draining) return input_.release();
    if (body_) {
        body_received_ += count;
        ++progress_;
    } else {
        input_.commit(count);
    }
    answer_requests();
}

// Further input is useless now, so its memory is freed. If there's no memory to receive and discard
// further input either, close without waiting for the peer to close.
void Connection::out_of_memory() {
    input_.release();
    body_.reset();
    if (phase_ == Phase::draining) return end_of_input();
    phase_ = Phase::draining;
    pending_body_ = service_unavailable;
}

Output Connection::output() {
    std::size_t count = 0;
    if (!output_.empty()) parts_[count++] = part(output_.view());
    if (!pending_body_.empty()) parts_[count++] = part(pending_body_);
    return {{parts_.data(), count}};
}

bool Connection::sent(std::size_t count) {
    ++progress_;
    const std::size_t from_output = std::min(count, output_.size());
    output_.consume(from_output);
    pending_body_.remove_prefix(count - from_output);
    if (has_output()) return false;
    if (phase_ != Phase::body) body_.reset();
    if (phase_ == Phase::draining) input_.release();
    answer_requests();
    return true;
}

// A complete request is answered from memory, without waiting for the socket.
void Connection::answer_requests() {
    while (phase_ != Phase::draining && pending_body_.empty() && output_.size() < max_unsent) {
        if (phase_ != Phase::body && !read_head()) return;
        if (body_ && body_received_ < request_.content_length) return;
        answer();
    }
}

bool Connection::read_head() {
    if (input_.empty()) return false;
    const auto progress = parser_.parse(input_.view(), request_);
    if (!progress) {
        refuse(progress.error());
        return false;
    }
    if (*progress != HttpParser::Progress::complete) return false;
    phase_ = Phase::body;
    begin_body();
    return true;
}

// A body that arrived complete with its head stays in the input. Any other body gets memory of its
// own, so that the head, which `request_` has views of, never moves.
void Connection::begin_body() {
    const std::string_view early = input_.view().substr(parser_.head_size());
    const std::size_t size = request_.content_length;
    if (early.size() >= size) {
        request_.body = early.substr(0, size);
        return;
    }
    body_ = std::make_unique_for_overwrite<char[]>(size);
    body_received_ = early.copy(body_.get(), early.size());
    request_.body = {body_.get(), size};
    if (request_.expects_continue && early.empty()) {
        output_.append("HTTP/1.1 100 Continue\r\n\r\n");
    }
}

void Connection::answer() {
    Response response;
    handler_->respond(request_, response);
    const bool last = closing_ || !request_.keep_alive;
    append(response, connection_field(request_, last));
    next_request();
    if (last) phase_ = Phase::draining;
}

// A body that has memory of its own is sent from there; any other body is small enough to copy.
// Space for all of it is reserved first: running out of memory between head and body would leave
// half an answer.
void Connection::append(const Response& response, std::string_view connection) {
    std::string_view body = response.body();
    if (request_.method == Method::head) body = {};
    if (body_ && response.has_request_body()) pending_body_ = std::exchange(body, {});
    output_.prepare(Response::max_head + body.size());
    std::array<char, Response::max_head> head;
    output_.append(response.format_head(head, connection));
    if (!body.empty()) output_.append(body);
}

void Connection::next_request() {
    const std::size_t used = parser_.head_size() + request_.content_length;
    input_.consume(std::min(used, input_.size()));
    if (pending_body_.empty()) body_.reset();
    parser_ = HttpParser();
    request_.reset();
    phase_ = Phase::head;
}

void Connection::refuse(Status status) {
    Response response;
    response.error(status);
    append(response, "Connection: close\r\n");
    phase_ = Phase::draining;
    input_.release();
}

}  // namespace web
