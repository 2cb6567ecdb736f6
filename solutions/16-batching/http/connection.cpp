#include "connection.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <utility>

namespace web {
namespace {

constexpr std::string_view crlf = "\r\n";

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
    return {waiting, waiting == Waiting::writable ? Interest::send : Interest::receive, moved_,
            bodies_};
}

Waiting Connection::waiting_for() const {
    if (has_output()) return Waiting::writable;
    if (input_ended_) return Waiting::nothing;
    if (phase_ == Phase::draining) return Waiting::peer_close;
    if (phase_ == Phase::body) return Waiting::body;
    return input_.empty() ? Waiting::request : Waiting::head;
}

std::span<char> Connection::receive_buffer() {
    if (!input_) [[likely]] {
        input_ = pool_->acquire();
    } else if (input_.capacity() < BufferPool::buffer_size) {
        enlarge_input();
    }
    return input_.prepare(min_receive_size);
}

void Connection::enlarge_input() {
    Buffer small = std::exchange(input_, pool_->acquire());
    input_.append(small.view());
    pool_->release(std::move(small));
}

// Input that has to wait moves into the smallest buffer that holds it. A body stays where it is,
// because its pieces are sent from there.
void Connection::shrink_input() {
    if (phase_ == Phase::body || input_.size() > BufferPool::small_size) return;
    if (input_.capacity() == BufferPool::small_size) return;
    Buffer small = pool_->acquire_small();
    small.append(input_.view());
    pool_->release(std::exchange(input_, std::move(small)));
}

void Connection::received(std::size_t count) {
    if (phase_ == Phase::draining) return release_input();
    input_.commit(count);
    if (phase_ == Phase::body) moved_ += static_cast<std::uint32_t>(count);
    answer_requests();
    release_idle_input();
}

void Connection::end_of_input() {
    input_ended_ = true;
    if (input_.empty()) release_input();
}

// Further input is useless now, so its memory is freed. If there's no memory to receive and discard
// further input either, close without waiting for the peer to close.
void Connection::out_of_memory() {
    pending_body_ = chunk_end_ = {};
    file_ = {};
    const bool was_last = phase_ == Phase::draining;
    if (log_ && !was_last && !response_started()) log_refusal(Status::service_unavailable, 0);
    close_input();
    if (was_last) return end_of_input();
    if (!response_started()) pending_body_ = service_unavailable;
}

Output Connection::output() {
    std::size_t count = 0;
    if (!output_.empty()) parts_[count++] = part(output_.view());
    if (!pending_body_.empty()) parts_[count++] = part(pending_body_);
    if (!chunk_end_.empty()) parts_[count++] = part(chunk_end_);
    const std::string_view in_memory = file_.bytes();
    if (!in_memory.empty()) parts_[count++] = part(in_memory);
    return {{parts_.data(), count}, file_.size > 0 && in_memory.empty() ? &file_ : nullptr};
}

bool Connection::sent(std::size_t count) {
    moved_ += static_cast<std::uint32_t>(count);
    if (count < output_.size()) {
        output_.consume(count);
        return false;
    }
    count -= output_.size();
    pool_->release(std::move(output_));
    if (has_large_body() && !sent_large_body(count)) return false;
    if (phase_ == Phase::draining) release_input();
    if (input_ || phase_ == Phase::body) {
        answer_requests();
        release_idle_input();
    }
    return true;
}

// Returns whether that was all of the body. If so, its file is closed.
bool Connection::sent_large_body(std::size_t count) {
    if (file_.size == 0) {
        const std::size_t of_echo = std::min(count, pending_body_.size());
        pending_body_.remove_prefix(of_echo);
        chunk_end_.remove_prefix(count - of_echo);
    } else {
        file_.offset += static_cast<off_t>(count);
        file_.size -= count;
        if (file_.size == 0) file_ = {};
    }
    if (has_large_body()) return false;
    input_.consume(std::exchange(used_, 0));
    return true;
}

void Connection::release_buffers() {
    pool_->release(std::move(input_));
    pool_->release(std::move(output_));
}

// A complete request is answered from memory, without waiting for the socket.
void Connection::answer_requests() {
    while (has_space() && has_head() && end_request()) {
    }
}

bool Connection::has_head() {
    return (phase_ == Phase::head && read_head()) || phase_ == Phase::body;
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
    begin_request();
    return true;
}

// The handler either answers now or returns a sink for the body. After that the head is no longer
// needed.
void Connection::begin_request() {
    Response response;
    sink_ = handler_->begin(request_, response);
    input_.consume(parser_.head_size());
    if (request_.has_body()) [[unlikely]]
        begin_body();
    if (!sink_) answer(response);
    if (log_) [[unlikely]]
        log_request(response);
}

// An unwanted body is read and skipped only if it is short enough to be worth keeping the
// connection. A client that got no 100 Continue may send its body anyway, or not (RFC 9110
// §10.1.1).
void Connection::begin_body() {
    ++bodies_;
    body_.begin(request_);
    const bool waits = request_.expects_continue && input_.empty();
    if (!sink_) {
        if (waits || body_.left() > max_skipped) request_.keep_alive = false;
    } else if (waits) {
        out().append("HTTP/1.1 100 Continue\r\n\r\n");
    }
}

// Returns true once the request is answered and its body, if any, has been read.
bool Connection::end_request() {
    if (sink_ || !body_.at_end()) [[unlikely]] {
        if (!take_body()) return false;
    }
    next_request();
    return true;
}

bool Connection::take_body() {
    while (!body_.at_end()) {
        const auto piece = body_.next(input_.view());
        if (!piece) refuse(piece.error());
        if (!piece || piece->used == 0) return false;
        if (sink_) {
            forward(*piece);
        } else {
            skip(piece->used);
        }
        if (!may_answer()) return false;
    }
    if (sink_) end_body();
    return true;
}

// Bytes that are sent from the input must stay there until they are sent.
void Connection::forward(const BodyParser::Piece& piece) {
    if (!piece.data.empty()) {
        if (reply_ == Reply::none) start_answer();
        body_received_ += piece.data.size();
        send_piece(sink_->piece(piece.data), true);
    }
    if (has_large_body()) {
        used_ = piece.used;
    } else {
        input_.consume(piece.used);
    }
}

// The length of a chunked body is only known as it arrives, so the limit is checked here too.
void Connection::skip(std::size_t count) {
    input_.consume(count);
    body_received_ += count;
    if (body_received_ > max_skipped) close_input();
}

void Connection::end_body() {
    if (reply_ == Reply::none) start_answer();
    Response response;
    sink_->end(body_received_, response);
    if (response_started()) {
        end_answer(response);
    } else {
        answer(response);
        if (log_) log_->answer(response.status(), body_size(response));
    }
    sink_.reset();
    if (log_) log_->end();
}

// Called only once a byte of the body has arrived: until then an error can still be reported.
void Connection::start_answer() {
    Response response;
    sink_->start(request_, response);
    using enum Response::Framing;
    reply_ = Reply::later;
    if (response.framing() == not_streamed) return;
    if (response.framing() == chunks && request_.version == Version::http_1_0) {
        response.end_by_closing();
        request_.keep_alive = false;
    }
    append(response, connection_field(request_, closing_ || !request_.keep_alive));
    if (log_) log_->answer(response.status(), 0);
    reply_ = response.framing() == chunks ? Reply::chunks : Reply::bytes;
    if (request_.method == Method::head) reply_ = Reply::all;
}

void Connection::end_answer(const Response& response) {
    send_piece(response.body(), false);
    if (reply_ == Reply::chunks) out().append("0\r\n\r\n");
    if (closing_ || !request_.keep_alive) phase_ = Phase::draining;
}

// RFC 9112 §7.1: an empty chunk would end the body.
void Connection::send_piece(std::string_view bytes, bool stays) {
    if (bytes.empty() || reply_ == Reply::all) return;
    assert(response_started());
    if (log_) log_->sent(bytes.size());
    const bool copied = bytes.size() <= max_copied || !stays;
    const std::string_view end = reply_ == Reply::chunks ? crlf : "";
    if (reply_ == Reply::chunks) append_size(bytes.size());
    if (copied) {
        out().append(bytes);
        out().append(end);
    } else {
        pending_body_ = bytes;
        chunk_end_ = end;
    }
}

void Connection::append_size(std::size_t size) {
    std::array<char, 2 * sizeof size> digits;
    char* const end = std::to_chars(digits.begin(), digits.end(), size, 16).ptr;
    out().append({digits.data(), end});
    out().append(crlf);
}

void Connection::answer(Response& response) {
    const bool last = closing_ || !request_.keep_alive;
    append(response, connection_field(request_, last));
    reply_ = Reply::all;
    if (last) phase_ = Phase::draining;
    if (response.has_file() && request_.method != Method::head) [[unlikely]]
        file_ = response.take_file();
}

Buffer& Connection::out() {
    if (!output_) output_ = pool_->acquire();
    return output_;
}

// A file is sent from where it is; any other body is small enough to copy.
void Connection::append(const Response& response, std::string_view connection) {
    std::string_view body = response.body();
    if (request_.method == Method::head) body = {};
    const std::span<char> space = out().prepare(response.max_head_size() + body.size());
    char* end = response.format_head(space.data(), *common_headers_, connection);
    end += body.copy(end, body.size());
    output_.commit(static_cast<std::size_t>(end - space.data()));
}

void Connection::next_request() {
    parser_.reset();
    request_.reset();
    body_received_ = 0;
    reply_ = Reply::none;
    if (phase_ == Phase::body) phase_ = Phase::head;
}

// An answer that has begun cannot be replaced. It is cut short, and the missing end shows the
// client that it failed.
void Connection::refuse(Status status) {
    if (!response_started()) {
        Response response;
        response.error(status);
        append(response, "Connection: close\r\n");
        if (log_) log_refusal(status, body_size(response));
    }
    close_input();
}

void Connection::close_input() {
    phase_ = Phase::draining;
    sink_.reset();
    pool_->release(std::move(input_));
    if (log_) log_->end();
}

std::size_t Connection::body_size(const Response& response) const {
    if (request_.method == Method::head) return 0;
    return response.body().size() + file_.size;
}

// The bytes of the head are still intact in the buffer, although input_ has already consumed them.
void Connection::log_request(const Response& response) {
    const LoggedHead head = logged_head(parser_.head(), request_.fields);
    if (sink_) {
        log_->begin(head);
    } else {
        log_->add(head, std::to_underlying(response.status()), body_size(response));
    }
}

// A refused head may be broken at its end, so only its first line is logged.
void Connection::log_refusal(Status status, std::size_t bytes) {
    if (log_->is_waiting()) {
        log_->answer(status, bytes);
        log_->end();
    } else {
        const std::string_view head = phase_ == Phase::body ? parser_.head() : input_.view();
        log_->add(logged_head(head), std::to_underlying(status), bytes);
    }
}

void Connection::log_aborted_request() {
    const LoggedHead head = logged_head(input_.view());
    const bool in_a_head = phase_ == Phase::head && !head.line.empty();
    if (in_a_head) log_->add(head, 0, 0);
    log_->end();
}

}  // namespace web
