// Whether the server in this container answers: exit code 0 if GET / on port 8080 begins with 200.
// A HEALTHCHECK that needs no shell.
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

    constexpr std::string_view wanted = "HTTP/1.1 200 ";
    char answer[wanted.size()];
    const auto received = ::recv(socket, answer, sizeof answer, MSG_WAITALL);
    return received == sizeof answer && std::string_view(answer, sizeof answer) == wanted ? 0 : 1;
}
