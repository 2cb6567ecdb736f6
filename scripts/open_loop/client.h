#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace open_loop {

/// Where the server is: a numeric address and a port, in the form of connect(2).
struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;

    /// Throws std::invalid_argument if `host` is not a numeric IPv4 or IPv6 address.
    Address(const std::string& host, std::uint16_t port);
};

/// What became of a request.
enum class Outcome { answered, wrong_status, failed };

/// One connection, on which one request is in flight at a time. Owns its socket. Not thread-safe.
class Client {
public:
    enum class State { closed, idle, connecting, sending, receiving };

    Client() = default;
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    State state() const { return state_; }
    int socket() const { return socket_; }
    bool waits_to_send() const { return state_ == State::connecting || state_ == State::sending; }

    /// Sends a request, on a new connection if none is open. Both must outlive the answer.
    void begin(const Address& server, std::string_view request);

    /// Goes on after select(2) has found the socket ready. Returns true once the request is over;
    /// `outcome()` then tells how. An idle connection that the server closes is only closed. If it
    /// closes just before a request arrives, the request is sent again on a new one (RFC 9110
    /// §9.2.2: GET is idempotent).
    bool proceed();

    Outcome outcome() const { return outcome_; }

private:
    bool send();
    bool receive();
    bool answer_complete();
    bool fail();
    bool end(Outcome outcome, bool keep);
    void connect();
    void close();

    int socket_ = -1;
    State state_ = State::closed;
    Outcome outcome_ = Outcome::failed;
    const Address* server_ = nullptr;
    std::string_view request_;
    std::string_view unsent_;
    std::string answer_;  ///< Its head, and as much of the body as was counted.
    std::size_t body_left_ = 0;
    bool in_body_ = false;
    bool keeps_ = false;
    bool reused_ = false;  ///< The connection has had an answer before.
};

}  // namespace open_loop
