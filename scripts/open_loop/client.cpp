#include "client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/select.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <system_error>

namespace open_loop {
namespace {

constexpr std::string_view head_end = "\r\n\r\n";

/// The value of a field of a head, as our servers and most others write its name.
std::string_view field(std::string_view head, std::string_view name) {
    const std::string line = "\r\n" + std::string(name) + ": ";
    const auto at = head.find(line);
    if (at == std::string_view::npos) return {};
    const std::string_view value = head.substr(at + line.size());
    return value.substr(0, value.find("\r\n"));
}

int open_socket(int family) {
    const int made = ::socket(family, SOCK_STREAM, 0);
    if (made < 0) throw std::system_error(errno, std::generic_category(), "socket");
    if (made >= FD_SETSIZE) {
        ::close(made);
        throw std::system_error(EMFILE, std::generic_category(), "select");
    }
    const int on = 1;
    ::fcntl(made, F_SETFL, O_NONBLOCK);
    ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return made;
}

}  // namespace

Address::Address(const std::string& host, std::uint16_t port) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    if (::inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
        storage.ss_family = AF_INET;
        v4->sin_port = htons(port);
        size = sizeof *v4;
    } else if (::inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
        storage.ss_family = AF_INET6;
        v6->sin6_port = htons(port);
        size = sizeof *v6;
    } else {
        throw std::invalid_argument(host + ": not a numeric address");
    }
}

Client::~Client() {
    close();
}

void Client::begin(const Address& server, std::string_view request) {
    server_ = &server;
    request_ = unsent_ = request;
    answer_.clear();
    in_body_ = false;
    reused_ = state_ == State::idle;
    if (reused_) {
        state_ = State::sending;
    } else {
        connect();
    }
}

void Client::connect() {
    socket_ = open_socket(server_->storage.ss_family);
    state_ = State::connecting;
    const auto* address = reinterpret_cast<const sockaddr*>(&server_->storage);
    if (::connect(socket_, address, server_->size) == 0) state_ = State::sending;
    // Any other error is reported by send(2).
}

bool Client::proceed() {
    switch (state_) {
        case State::closed: return false;
        case State::idle: close(); return false;
        case State::connecting:
        case State::sending: return send();
        case State::receiving: return receive();
    }
    return false;
}

bool Client::send() {
    const ssize_t count = ::send(socket_, unsent_.data(), unsent_.size(), 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR ? false : fail();
    unsent_.remove_prefix(static_cast<std::size_t>(count));
    state_ = unsent_.empty() ? State::receiving : State::sending;
    return false;
}

bool Client::receive() {
    char buffer[64 * 1024];
    const ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR ? false : fail();
    if (count == 0) return fail();
    if (in_body_) {
        body_left_ -= std::min(body_left_, static_cast<std::size_t>(count));
    } else {
        answer_.append(buffer, static_cast<std::size_t>(count));
    }
    return answer_complete();
}

bool Client::answer_complete() {
    if (!in_body_) {
        const auto at = answer_.find(head_end);
        if (at == std::string::npos) return false;
        const std::string_view head(answer_.data(), at + 2);
        const std::string_view length = field(head, "Content-Length");
        std::size_t size = 0;
        std::from_chars(length.data(), length.data() + length.size(), size);
        const std::size_t here = answer_.size() - at - head_end.size();
        body_left_ = size - std::min(size, here);
        in_body_ = true;
        keeps_ = field(head, "Connection") != "close";
        outcome_ = head.starts_with("HTTP/1.1 2") ? Outcome::answered : Outcome::wrong_status;
    }
    return body_left_ == 0 && end(outcome_, keeps_);
}

bool Client::fail() {
    if (!reused_ || !answer_.empty()) return end(Outcome::failed, false);
    close();
    reused_ = false;
    unsent_ = request_;
    connect();
    return false;
}

bool Client::end(Outcome outcome, bool keep) {
    outcome_ = outcome;
    if (keep) {
        state_ = State::idle;
    } else {
        close();
    }
    return true;
}

void Client::close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
    state_ = State::closed;
}

}  // namespace open_loop
