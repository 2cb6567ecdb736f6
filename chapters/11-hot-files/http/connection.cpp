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
    const bool usual = !last && request.version == Version::http_1_1;
    if (usual) [[likely]]
        return {};
    return last ? "Connection: close\r\n" : "Connection: keep-alive\r\n";
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
    if (!input_) input_ = pool_->acquire();
    return input_.prepare(min_receive_size);
}

void Connection::received(std::size_t count) {
    if (phase_ == Phase::draining) return pool_->release(std::move(input_));
    if (body_) {
        body_received_ += count;
        if (count > 0) ++progress_;
    } else {
        input_.commit(count);
    }
    answer_requests();
    release_empty_buffers(input_);
}

void Connection::end_of_input() {
    input_ended_ = true;
    release_empty_buffers(input_);
}

// Further input is useless now, so its memory is freed. If there's no memory to receive and discard
// further input either, close without waiting for the peer to close.
void Connection::out_of_memory() {
    pool_->release(std::move(input_));
    body_.reset();
    file_ = {};
    if (phase_ == Phase::draining) return end_of_input();
    phase_ = Phase::draining;
    pending_body_ = service_unavailable;
}

Output Connection::output() {
    std::size_t count = 0;
    if (!output_.empty()) parts_[count++] = part(output_.view());
    if (!pending_body_.empty()) parts_[count++] = part(pending_body_);
    // TODO(11.2): a file whose bytes are in memory is one more iovec part.
    return {{parts_.data(), count}, file_.size > 0 ? &file_ : nullptr};
}

bool Connection::sent(std::size_t count) {
    ++progress_;
    if (count < output_.size()) {
        output_.consume(count);
        return false;
    }
    count -= output_.size();
    pool_->release(std::move(output_));
    if (has_large_body() && !sent_large_body(count)) return false;
    if (phase_ != Phase::body) body_.reset();
    if (phase_ == Phase::draining) pool_->release(std::move(input_));
    if (input_) {
        answer_requests();
        release_empty_buffers(input_);
    }
    return true;
}

// Returns whether that was all of the body. If so, its file is closed.
bool Connection::sent_large_body(std::size_t count) {
    if (file_.size == 0) {
        pending_body_.remove_prefix(count);
    } else {
        file_.offset += static_cast<off_t>(count);
        file_.size -= count;
        if (file_.size == 0) file_ = {};
    }
    return !has_large_body();
}

void Connection::release_empty_buffers(Buffer& buffer) {
    if (buffer && buffer.empty()) pool_->release(std::move(buffer));
}

// A complete request is answered from memory, without waiting for the socket.
void Connection::answer_requests() {
    while (may_answer() && (phase_ == Phase::body || read_head())) {
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
    if (request_.content_length > 0) begin_body();
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
        if (!output_) output_ = pool_->acquire();
        output_.append("HTTP/1.1 100 Continue\r\n\r\n");
    }
}

void Connection::answer() {
    Response response;
    handler_->respond(request_, response);
    const bool last = closing_ || !request_.keep_alive;
    append(response, connection_field(request_, last));
    if (response.has_file() && request_.method != Method::head) [[unlikely]]
        file_ = response.take_file();
    next_request();
    if (last) phase_ = Phase::draining;
}

// A file, or a body that has memory of its own, is sent from there; any other body is small enough
// to copy.
void Connection::append(const Response& response, std::string_view connection) {
    if (!output_) output_ = pool_->acquire();
    std::string_view body = response.body();
    if (request_.method == Method::head) body = {};
    if (body_ && response.has_request_body()) pending_body_ = std::exchange(body, {});
    const std::span<char> space = output_.prepare(response.max_head_size() + body.size());
    char* end = response.format_head(space.data(), *common_headers_, connection);
    end += body.copy(end, body.size());
    output_.commit(static_cast<std::size_t>(end - space.data()));
}

void Connection::next_request() {
    const std::size_t used = parser_.head_size() + request_.content_length;
    input_.consume(std::min(used, input_.size()));
    if (pending_body_.empty()) body_.reset();
    parser_.reset();
    request_.reset();
    phase_ = Phase::head;
}

void Connection::refuse(Status status) {
    Response response;
    response.error(status);
    append(response, "Connection: close\r\n");
    phase_ = Phase::draining;
    pool_->release(std::move(input_));
}

}  // namespace web
