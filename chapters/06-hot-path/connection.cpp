#include "connection.h"

#include <algorithm>

namespace web {
namespace {

iovec part(std::string_view bytes) {
    return {const_cast<char*>(bytes.data()), bytes.size()};
}

// RFC 9112 §9.3: 1.1 stays open unless told otherwise, 1.0 closes unless asked to stay.
std::string_view connection_field(const Request& request, bool last) {
    if (last) return "Connection: close\r\n";
    return request.version == Version::http_1_0 ? "Connection: keep-alive\r\n" : "";
}

}  // namespace

Wants Connection::wants() const {
    const Wait wait = waits_for();
    return {wait, wait == Wait::room ? Interest::send : Interest::receive, turn_};
}

Wait Connection::waits_for() const {
    if (has_output()) return Wait::room;
    if (input_ended_) return Wait::nothing;
    if (last_answered_) return Wait::end;
    if (head_whole_) return Wait::body;
    return input_.empty() ? Wait::request : Wait::head;
}

std::span<char> Connection::room() {
    if (body_) return {body_.get() + body_had_, request_.content_length - body_had_};
    return input_.room(chunk);
}

void Connection::received(std::size_t count) {
    if (last_answered_) return;
    if (body_) {
        body_had_ += count;
        ++turn_;
    } else {
        input_.commit(count);
    }
    answer_requests();
}

Output Connection::output() {
    std::size_t count = 0;
    if (!output_.empty()) parts_[count++] = part(output_.view());
    if (!echo_.empty()) parts_[count++] = part(echo_);
    return {{parts_.data(), count}};
}

bool Connection::sent(std::size_t count) {
    ++turn_;
    const std::size_t from_output = std::min(count, output_.size());
    output_.consume(from_output);
    echo_.remove_prefix(count - from_output);
    if (has_output()) return false;
    if (!head_whole_) body_.reset();
    answer_requests();
    return true;
}

// A request that is whole is answered from memory: nobody waits for bytes that are here already.
void Connection::answer_requests() {
    while (!last_answered_ && echo_.empty() && output_.size() < max_unsent) {
        if (!head_whole_ && !read_head()) return;
        if (body_ && body_had_ < request_.content_length) return;
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
    head_whole_ = *progress == HttpParser::Progress::complete;
    if (head_whole_) begin_body();
    return head_whole_;
}

// A body that came with its head stays where it is. Any other gets memory of its own, so that the
// head, which has views of the input, never moves.
void Connection::begin_body() {
    const std::string_view early = input_.view().substr(parser_.head_size());
    const std::size_t size = request_.content_length;
    if (early.size() >= size) {
        request_.body = early.substr(0, size);
        return;
    }
    if (request_.expects_continue && early.empty()) {
        output_.append("HTTP/1.1 100 Continue\r\n\r\n");
    }
    body_ = std::make_unique_for_overwrite<char[]>(size);
    body_had_ = early.copy(body_.get(), early.size());
    request_.body = {body_.get(), size};
}

void Connection::answer() {
    Response response;
    handler_->respond(request_, response);
    last_answered_ = closing_ || !request_.keep_alive;
    append_head(response, connection_field(request_, last_answered_));
    if (request_.method != Method::head) append_body(response);
    next_request();
}

void Connection::append_head(const Response& response, std::string_view connection) {
    std::array<char, Response::max_head> head;
    output_.append(response.format_head(head, connection));
}

// A body that has memory of its own goes out from there; anything else is soon copied.
void Connection::append_body(const Response& response) {
    if (body_ && response.has_request_body()) {
        echo_ = response.body();
    } else {
        output_.append(response.body());
    }
}

void Connection::next_request() {
    const std::size_t used = parser_.head_size() + request_.content_length;
    input_.consume(std::min(used, input_.size()));
    if (echo_.empty()) body_.reset();
    parser_ = HttpParser();
    request_.reset();
    head_whole_ = false;
}

void Connection::refuse(Status status) {
    Response response;
    response.error(status);
    last_answered_ = true;
    append_head(response, "Connection: close\r\n");
    if (request_.method != Method::head) output_.append(response.body());
    input_.release();
}

}  // namespace web
