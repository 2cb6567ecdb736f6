// Checks whether the server in this container answers. The exit code is 0 if it answers GET / on
// port 8080 with 200, or with 400, which a TLS server returns to a request without TLS. For a
// HEALTHCHECK that needs no shell.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <string_view>

int main() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const timeval patience{.tv_sec = 4, .tv_usec = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);

    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_port = htons(8080);
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0) return 1;

    constexpr std::string_view request =
        "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    if (::send(socket, request.data(), request.size(), MSG_NOSIGNAL) < 0) return 1;

    constexpr std::string_view served = "HTTP/1.1 200 ";
    constexpr std::string_view without_tls = "HTTP/1.1 400 ";
    char bytes[served.size()];
    if (::recv(socket, bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes) return 1;
    const std::string_view answer(bytes, sizeof bytes);
    return answer == served || answer == without_tls ? 0 : 1;
}
