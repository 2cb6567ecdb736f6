#include "floor.h"

#include <unistd.h>

#include <format>
#include <string_view>

#include "socket.h"

namespace web {
namespace {

constexpr std::size_t buffer_size = 256 * 1024;
constexpr int accept_batch = 64;
constexpr std::size_t answers_at_once = 256;

constexpr std::string_view page =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<meta charset=\"utf-8\">\n"
    "<title>Hot Path</title>\n"
    "<h1>Hot Path</h1>\n"
    "<p>The same page, faster every chapter.</p>\n"
    "</html>\n";

constexpr std::string_view opening =
    "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
    "X-Content-Type-Options: nosniff\r\n";

/// Every checkpoint's answer to GET / on a kept-alive connection; from chapter 9 on it is `dated`.
std::string answer(bool dated) {
    return std::format(
        "HTTP/1.1 200 OK\r\n"
        "{}"
        "Content-Type: text/html; charset=utf-8\r\n"
        "Content-Length: {}\r\n"
        "\r\n"
        "{}",
        dated ? opening : std::string_view(), page.size(), page);
}

/// Repeated so that one send can answer all requests of one read.
std::string repeated(std::string_view text) {
    std::string all;
    for (std::size_t i = 0; i < answers_at_once; ++i)
        all += text;
    return all;
}

}  // namespace

Floor::Floor(const std::string& host, std::uint16_t port, bool dated)
    : answer_(answer(dated)),
      answers_(repeated(answer_)),
      listener_(listen_on(host, port)),
      buffer_(buffer_size) {
    poller_.add(listener_);
}

std::uint16_t Floor::port() const {
    return local_port(listener_);
}

void Floor::run() {
    for (auto ready = poller_.wait(); !ready.empty(); ready = poller_.wait()) {
        for (const int descriptor : ready) {
            if (descriptor == listener_) {
                accept_clients();
            } else {
                serve(descriptor);
            }
        }
    }
}

void Floor::accept_clients() {
    for (int i = 0; i < accept_batch; ++i) {
        const auto client = accept_client(listener_);
        if (!client) {
            if (client.error() == IoError::exhausted) {
                poller_.remove(listener_);
                listening_ = false;
            }
            return;
        }
        const auto index = static_cast<std::size_t>(*client);
        if (index >= clients_.size()) clients_.resize(index + 1);
        clients_[index] = Client();
        poller_.add(*client);
    }
}

/// While answers are unsent nothing more is read, so a client that does not receive has to wait.
void Floor::serve(int descriptor) {
    Client& client = clients_[static_cast<std::size_t>(descriptor)];
    const bool waited = client.unsent > 0;
    if (!waited && !take_input(descriptor, client)) return close_client(descriptor);
    if (!send_unsent(descriptor, client)) return close_client(descriptor);
    if (waited != (client.unsent > 0)) {
        using enum Poller::Interest;
        poller_.change(descriptor, client.unsent > 0 ? output : input);
    }
}

/// Returns false if the client has disconnected or has to be closed.
bool Floor::take_input(int descriptor, Client& client) {
    const auto count = receive(descriptor, buffer_);
    if (!count) return count.error() == IoError::would_block;
    if (*count == 0) return false;
    const auto ends = client.count_ends({buffer_.data(), *count});
    if (!ends) return false;
    client.unsent += *ends * answer_.size();
    return true;
}

/// The client's unsent bytes, which end with a whole answer.
std::string_view Floor::next_bytes(const Client& client) const {
    const std::size_t begun = (answer_.size() - client.unsent % answer_.size()) % answer_.size();
    return std::string_view(answers_).substr(begun, client.unsent);
}

/// Returns false if the client has disconnected.
bool Floor::send_unsent(int descriptor, Client& client) {
    while (client.unsent > 0) {
        const auto count = send(descriptor, next_bytes(client));
        if (!count) return count.error() == IoError::would_block;
        client.unsent -= *count;
    }
    return true;
}

void Floor::close_client(int descriptor) {
    ::close(descriptor);
    if (!listening_) {
        poller_.add(listener_);
        listening_ = true;
    }
}

}  // namespace web
