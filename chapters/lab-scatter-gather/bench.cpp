#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <task.h>  // from the tree that is timed, not the one next to this file

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "counted.h"

namespace {

constexpr std::size_t buffers = 16, size = 1024;
constexpr int buffer_size = 256 * 1024;

// Everything sent is received before more is sent, so that no call ever blocks.
void there(benchmark::State& state, int from, int to) {
    std::vector<std::byte> sent(buffers * size), got(sent.size());
    const auto all = [](std::vector<std::byte>& bytes) {
        std::array<iovec, buffers> each;
        for (std::size_t i = 0; i < buffers; ++i) {
            each[i] = {&bytes[i * size], size};
        }
        return each;
    };
    for (const int socket : {from, to}) {
        ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &buffer_size, sizeof buffer_size);
        ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof buffer_size);
    }
    for (auto _ : state) {
        auto to_send = all(sent), to_fill = all(got);
        std::span<iovec> left = to_send, empty = to_fill;
        if (web::send(from, left).bytes != sent.size() ||
            web::receive(to, empty).bytes != got.size()) {
            state.SkipWithError("not all was sent, or not all came");
            break;
        }
    }
    ::close(from);
    ::close(to);
}

// A socket pair, which keeps the kernel's part as short as possible.
void pair(benchmark::State& state) {
    int ends[2]{};
    ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    there(state, ends[0], ends[1]);
}

// Without Nagle's algorithm, which would itself gather what was sent separately (tcp(7)).
void tcp(benchmark::State& state) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0),
              from = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    ::setsockopt(from, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::bind(listener, any, length) < 0 || ::listen(listener, 1) < 0 ||
        ::getsockname(listener, any, &length) < 0 || ::connect(from, any, length) < 0) {
        state.SkipWithError("no connection");
    }
    there(state, from, ::accept(listener, nullptr, nullptr));
    ::close(listener);
}

BENCHMARK(pair)->Apply(lab::counted);
BENCHMARK(tcp)->Apply(lab::counted);

}  // namespace
