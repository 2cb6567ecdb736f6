#include <benchmark/benchmark.h>
#include <sys/socket.h>
#include <task.h>  // from the tree that is timed, not the one next to this file
#include <unistd.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "counted.h"

namespace {

constexpr unsigned threads = 4;
constexpr char plain = 'p', blocking = 'b';

// Echoes each byte, some after a millisecond. No client sends a second byte before its answer or
// disconnects, so one receive gets everything.
class Echo : public web::Client {
public:
    explicit Echo(int fd) : fd_(fd) {}
    ~Echo() override { ::close(fd_); }

    int fd() const override { return fd_; }

    bool serve() noexcept override {
        char byte;
        if (::recv(fd_, &byte, 1, MSG_DONTWAIT) != 1) return true;
        if (byte == blocking) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return ::send(fd_, &byte, 1, MSG_NOSIGNAL) == 1;
    }

private:
    const int fd_;
};

// A server and the far ends of its clients' sockets.
template <class Server>
class Asking {
public:
    explicit Asking(int clients) : server_(threads) {
        for (int i = 0; i < clients; ++i) {
            int ends[2];
            if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
                throw std::runtime_error("too few descriptors: see ulimit -n");
            }
            far_.push_back(ends[1]);
            server_.add(std::make_unique<Echo>(ends[0]));
        }
    }

    ~Asking() {
        for (const int fd : far_) {
            ::close(fd);
        }
    }

    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

    // All clients send a request, some of them one that blocks, and receive their answers.
    void ask(int those_that_block = 0) const {
        for (const int fd : far_) {
            const char byte = those_that_block-- > 0 ? blocking : plain;
            if (::send(fd, &byte, 1, 0) != 1) throw std::runtime_error("nothing could be sent");
        }
        for (const int fd : far_) {
            char byte;
            if (::recv(fd, &byte, 1, 0) != 1) throw std::runtime_error("there is no answer");
        }
    }

private:
    std::vector<int> far_;
    Server server_;
};

template <class Server>
void one_asks(benchmark::State& state) {
    const Asking<Server> asking(1);
    for (auto _ : state) {
        asking.ask();
    }
}

template <class Server>
void sixteen_ask(benchmark::State& state) {
    const Asking<Server> asking(16);
    for (auto _ : state) {
        asking.ask();
    }
}

// Four of the clients request something that blocks for a millisecond.
template <class Server>
void four_block(benchmark::State& state) {
    const Asking<Server> asking(16);
    for (auto _ : state) {
        asking.ask(4);
    }
}

void counted(benchmark::internal::Benchmark* bench) {
    lab::counted(bench);
    bench->UseRealTime();
}

BENCHMARK(one_asks<web::Loop>)->Apply(counted);
BENCHMARK(one_asks<web::Pool<web::OneShot>>)->Apply(counted);
BENCHMARK(one_asks<web::Pool<web::Counting>>)->Apply(counted);
BENCHMARK(sixteen_ask<web::Loop>)->Apply(counted);
BENCHMARK(sixteen_ask<web::Pool<web::OneShot>>)->Apply(counted);
BENCHMARK(sixteen_ask<web::Pool<web::Counting>>)->Apply(counted);
BENCHMARK(four_block<web::Loop>)->Apply(counted);
BENCHMARK(four_block<web::Pool<web::OneShot>>)->Apply(counted);
BENCHMARK(four_block<web::Pool<web::Counting>>)->Apply(counted);

}  // namespace
