#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client.h"
#include "poller.h"

namespace web {

/// No server, and next to nothing: reads, counts the requests that end, and writes the same answer
/// for each. One thread. Answers are right for GET / alone; what matters is that they cost nothing.
class Floor {
public:
    /// Throws std::system_error or std::invalid_argument when it cannot listen.
    Floor(const std::string& host, std::uint16_t port);

    std::uint16_t port() const;

    /// Serves until SIGINT or SIGTERM.
    void run();

private:
    void accept_clients();
    void serve(int descriptor);
    bool take_input(int descriptor, Client& client);
    bool send_unsent(int descriptor, Client& client);
    void close_client(int descriptor);

    Poller poller_;
    int listener_;
    bool listening_ = true;        ///< False while there is no descriptor for another client.
    std::vector<Client> clients_;  ///< By descriptor.
    std::vector<char> buffer_;
};

}  // namespace web
