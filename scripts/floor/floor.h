#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client.h"
#include "poller.h"

namespace web {

/// The baseline, not a real server: reads, counts the requests that end, and writes the same answer
/// for each, in one thread. The answers are correct for GET / only; what matters is that they cost
/// nothing.
class Floor {
public:
    /// Its answers are those of chapters 1 to 8 or, if `dated`, as long as those from chapter 9 on.
    /// Throws std::system_error or std::invalid_argument if it cannot listen.
    Floor(const std::string& host, std::uint16_t port, bool dated);

    std::uint16_t port() const;

    /// Serves until SIGINT or SIGTERM.
    void run();

private:
    void accept_clients();
    void serve(int descriptor);
    bool take_input(int descriptor, Client& client);
    std::string_view next_bytes(const Client& client) const;
    bool send_unsent(int descriptor, Client& client);
    void close_client(int descriptor);

    std::string answer_;
    std::string answers_;  ///< The same over and over.
    Poller poller_;
    int listener_;
    bool listening_ = true;        ///< False while there is no descriptor for another client.
    std::vector<Client> clients_;  ///< By descriptor.
    std::vector<char> buffer_;
};

}  // namespace web
