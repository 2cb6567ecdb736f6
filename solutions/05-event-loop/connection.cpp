#include "connection.h"

#include <algorithm>
#include <utility>

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
    if (last_answered_) return input_.release();
    if (body_) {
        body_had_ += count;
        ++turn_;
    } else {
        input_.commit(count);
    }
    answer_requests();
}

// Nothing that still comes is of use, so it makes room. With no memory to drop it in either, nobody
// waits for its end.
void Connection::out_of_memory() {
    input_.release();
    body_.reset();
    if (last_answered_) return end_of_input();
    last_answered_ = true;
    echo_ = service_unavailable;
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
    if (last_answered_) input_.release();
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
    body_ = std::make_unique_for_overwrite<char[]>(size);
    body_had_ = early.copy(body_.get(), early.size());
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
    last_answered_ = last;
    next_request();
}

// A body that has memory of its own goes out from there; anything else is soon copied. Room for all
// of it comes first: memory that runs out between head and body would leave half an answer.
void Connection::append(const Response& response, std::string_view connection) {
    std::string_view body = response.body();
    if (request_.method == Method::head) body = {};
    if (body_ && response.has_request_body()) echo_ = std::exchange(body, {});
    output_.room(Response::max_head + body.size());
    std::array<char, Response::max_head> head;
    output_.append(response.format_head(head, connection));
    if (!body.empty()) output_.append(body);
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
    append(response, "Connection: close\r\n");
    last_answered_ = true;
    input_.release();
}

}  // namespace web
