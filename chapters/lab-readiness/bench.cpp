#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <task.h>  // from the tree that is timed, not the one next to this file
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "counted.h"

namespace {

constexpr std::chrono::seconds patience(10);

// Pairs of sockets. The near ends are the watched ones and have low numbers, as select(2) requires.
class Pairs {
public:
    explicit Pairs(int count) {
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max < many ? limit.rlim_max : many;
        ::setrlimit(RLIMIT_NOFILE, &limit);
        for (int i = 0; i < count; ++i) {
            add();
        }
    }

    ~Pairs() {
        for (const int fd : near_) {
            ::close(fd);
        }
        for (const int fd : far_) {
            ::close(fd);
        }
    }

    Pairs(const Pairs&) = delete;
    Pairs& operator=(const Pairs&) = delete;

    const std::vector<int>& watched() const { return near_; }

    void speak(std::size_t index) const {
        if (::send(far_[index], "x", 1, 0) != 1) {
            throw std::runtime_error("nothing could be sent");
        }
    }

private:
    static constexpr rlim_t many = 4096;
    static constexpr int high = 1200;

    void add() {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
            throw std::runtime_error("too few descriptors: see ulimit -n");
        }
        near_.push_back(ends[0]);
        far_.push_back(::fcntl(ends[1], F_DUPFD, high));
        ::close(ends[1]);
    }

    std::vector<int> near_;
    std::vector<int> far_;
};

// Receives from all descriptors that the poller reports, until `count` of them have been served.
template <class Poller>
void receive(Poller& poller, std::size_t count) {
    while (count > 0) {
        for (const int fd : poller.wait(patience)) {
            char byte;
            if (::recv(fd, &byte, 1, 0) != 1) {
                throw std::runtime_error("a socket was told that cannot be read");
            }
            --count;
        }
    }
}

// One client sends a byte while the others are silent, and the byte is received.
template <class Poller>
void one_speaks(benchmark::State& state) {
    const auto silent = static_cast<std::size_t>(state.range(0));
    const Pairs pairs(static_cast<int>(silent) + 1);
    Poller poller;
    for (const int fd : pairs.watched()) {
        poller.add(fd);
    }
    for (auto _ : state) {
        pairs.speak(silent / 2);
        receive(poller, 1);
    }
}

// All clients send a byte.
template <class Poller>
void all_speak(benchmark::State& state) {
    const auto count = static_cast<std::size_t>(state.range(0));
    const Pairs pairs(static_cast<int>(count));
    Poller poller;
    for (const int fd : pairs.watched()) {
        poller.add(fd);
    }
    for (auto _ : state) {
        for (std::size_t i = 0; i < count; ++i) {
            pairs.speak(i);
        }
        receive(poller, count);
    }
}

void silent(benchmark::internal::Benchmark* bench) {
    lab::counted(bench);
    bench->Arg(1)->Arg(100)->Arg(1000);
}

BENCHMARK(one_speaks<web::Select>)->Apply(silent);
BENCHMARK(one_speaks<web::Poll>)->Apply(silent);
BENCHMARK(one_speaks<web::Poller>)->Apply(silent);
BENCHMARK(all_speak<web::Poll>)->Apply(lab::counted)->Arg(100);
BENCHMARK(all_speak<web::Poller>)->Apply(lab::counted)->Arg(100);

}  // namespace
