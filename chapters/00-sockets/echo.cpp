// Sends back what it receives, one client at a time: echo [port] [backlog] [reuse]
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

void require(bool succeeded, const char* call) {
    if (succeeded) return;
    std::perror(call);
    std::exit(1);
}

int listen_on(std::uint16_t port, int backlog, int reuse) {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    require(listener >= 0, "socket");
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    require(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
    require(::listen(listener, backlog) == 0, "listen");
    return listener;
}

bool send_all(int client, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(client, bytes.data(), bytes.size(), 0);
        if (sent < 0) return false;  // an error: usually the client has disconnected
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

// Serves until the client shuts down its side, or sends "bye": in that case we close first.
void serve(int client) {
    std::array<char, 4096> buffer;
    ssize_t count = 0;
    while ((count = ::recv(client, buffer.data(), buffer.size(), 0)) > 0) {
        const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
        if (!send_all(client, bytes) || bytes.ends_with("bye\n")) break;
    }
    ::close(client);
}

}  // namespace

int main(int argc, char* argv[]) {
    std::signal(SIGPIPE, SIG_IGN);  // a client that disconnects must not end the process
    const int port = argc > 1 ? std::atoi(argv[1]) : 7007;
    const int backlog = argc > 2 ? std::atoi(argv[2]) : 8;
    const int listener = listen_on(static_cast<std::uint16_t>(port), backlog, argc > 3);
    std::printf("listening on port %d\n", port);
    std::fflush(stdout);
    while (true) {
        const int client = ::accept(listener, nullptr, nullptr);
        if (client >= 0) serve(client);
    }
}
