// The headers are those of the tree that is timed, not the ones next to this file.
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <busy_wait.h>
#include <client.h>
#include <connecting.h>
#include <counters.h>
#include <netinet/in.h>
#include <nonblocking.h>
#include <poll.h>
#include <sched.h>
#include <scratch.h>
#include <small_vector.h>
#include <sys/socket.h>
#include <task_queue.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <string_view>
#include <thread>
#include <vector>

#include "counted.h"

namespace {

// Eight tasks for four sleeping threads. Each iteration waits until all tasks are done and the
// threads sleep again.
void burst(benchmark::State& state) {
    constexpr std::size_t sleepers = 4;
    constexpr std::array<web::TaskQueue::Task, 8> tasks{};
    web::TaskQueue queue;
    std::atomic<std::size_t> done = 0;
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < sleepers; ++i) {
        threads.emplace_back([&queue, &done] {
            for (auto some = queue.take(); !some.empty(); some = queue.take()) {
                done += some.size();
            }
        });
    }
    std::size_t pushed = 0;
    for (auto _ : state) {
        while (done < pushed || queue.sleeping() < sleepers) {
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
        queue.push(tasks);
        pushed += tasks.size();
    }
    queue.close();
}

// The fields of a short request, each with a name and a value.
void fields(benchmark::State& state) {
    struct Field {
        std::string_view name, value;
    };
    for (auto _ : state) {
        web::SmallVector<Field, 16> found;
        for (int i = 0; i < 8; ++i) {
            found.push_back({"Accept", "*/*"});
        }
        benchmark::DoNotOptimize(found[7]);
    }
}

template <class Counter>
void count(benchmark::State& state) {
    static Counter counter;
    for (auto _ : state) {
        counter.add();
    }
    benchmark::DoNotOptimize(counter.value());
}

// From here on the process has a second, sleeping thread, as a server would.
void accompany() {
    [[maybe_unused]] static const bool accompanied = [] {
        std::thread(::pause).detach();
        return true;
    }();
}

// While a process has one thread, glibc's mutex needs no locked instruction.
void shared_count_alone(benchmark::State& state) {
    count<web::SharedCounter>(state);
}

void shared_count(benchmark::State& state) {
    accompany();
    count<web::SharedCounter>(state);
}

void own_count(benchmark::State& state) {
    accompany();
    count<web::OwnCounter>(state);
}

template <class Memory>
void eight_buffers(Memory& memory) {
    for (std::size_t size = 32; size <= 256; size += 32) {
        benchmark::DoNotOptimize(memory.allocate(size, 8));
    }
}

void buffers(benchmark::State& state) {
    alignas(std::max_align_t) std::array<std::byte, 4096> bytes;
    for (auto _ : state) {
        web::Scratch scratch(bytes);
        eight_buffers(scratch);
    }
}

// The same with the standard library's resource, for comparison.
void standard_buffers(benchmark::State& state) {
    alignas(std::max_align_t) std::array<std::byte, 4096> bytes;
    for (auto _ : state) {
        std::pmr::monotonic_buffer_resource memory(bytes.data(), bytes.size());
        eight_buffers(memory);
    }
}

sockaddr_in loopback() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

// Listens on a free local port. accept() waits for a client.
class Listener {
public:
    Listener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        ::bind(socket_.number(), reinterpret_cast<sockaddr*>(&address_), size_);
        ::getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&address_), &size_);
        ::listen(socket_.number(), 16);
    }

    const web::Fd& socket() const { return socket_; }
    const sockaddr_in& address() const { return address_; }

    void connect(const web::Fd& client) const {
        ::connect(client.number(), reinterpret_cast<const sockaddr*>(&address_), size_);
    }

private:
    web::Fd socket_;
    sockaddr_in address_ = loopback();
    socklen_t size_ = sizeof(address_);
};

// Closes with a reset, so that connections leave no TIME_WAIT behind and ports never run out.
void close_at_once(const web::Fd& client) {
    const linger none{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(client.number(), SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

void addresses(benchmark::State& state) {
    const Listener listener;
    for (auto _ : state) {
        const web::Fd client(::socket(AF_INET, SOCK_STREAM, 0));
        close_at_once(client);
        listener.connect(client);
        benchmark::DoNotOptimize(web::accept_client(listener.socket()).address);
    }
}

void sockets(benchmark::State& state) {
    const Listener listener;
    for (auto _ : state) {
        const web::Fd client = web::nonblocking_socket(AF_INET);
        close_at_once(client);
        listener.connect(client);
        benchmark::DoNotOptimize(web::accept_nonblocking(listener.socket()).number());
    }
}

void connections(benchmark::State& state) {
    const Listener listener;
    for (auto _ : state) {
        const auto client = web::begin_connecting(listener.address());
        if (!client) {
            state.SkipWithError("the listener cannot be reached");
            return;
        }
        pollfd watched{.fd = client->number(), .events = POLLOUT, .revents = 0};
        ::poll(&watched, 1, -1);
        if (web::connected(*client)) {
            state.SkipWithError("the listener refused");
            return;
        }
        close_at_once(*client);
        const web::Fd accepted(::accept(listener.socket().number(), nullptr, nullptr));
    }
}

// The condition becomes true when it is checked for the hundredth time.
void late(benchmark::State& state) {
    for (auto _ : state) {
        int asked = 0;
        web::busy_wait([&asked] {
            // otherwise the compiler computes where the loop ends
            benchmark::DoNotOptimize(++asked);
            return asked == 100;
        });
    }
}

// Pins its thread to the first of the process's cores, where the system supports that.
class OnOneCore {
public:
#ifdef __linux__
    OnOneCore() {
        ::sched_getaffinity(0, sizeof(before_), &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first(), &one);
        ::sched_setaffinity(0, sizeof(one), &one);
    }

    ~OnOneCore() { ::sched_setaffinity(0, sizeof(before_), &before_); }

    OnOneCore(const OnOneCore&) = delete;
    OnOneCore& operator=(const OnOneCore&) = delete;

private:
    std::size_t first() const {
        std::size_t core = 0;
        while (!CPU_ISSET(core, &before_)) {
            ++core;
        }
        return core;
    }

    cpu_set_t before_;
#endif
};

// Two threads that share one core pass a turn back and forth.
void turns(benchmark::State& state) {
    static std::atomic<int> turn = 0;
    [[maybe_unused]] const OnOneCore here;
    const int me = state.thread_index();
    for (auto _ : state) {
        web::busy_wait([me] { return turn.load(std::memory_order_acquire) == me; });
        turn.store(1 - me, std::memory_order_release);
    }
}

BENCHMARK(fields)->Apply(lab::counted);
BENCHMARK(shared_count_alone)->Apply(lab::counted);
BENCHMARK(shared_count)->Apply(lab::counted);
BENCHMARK(own_count)->Apply(lab::counted);
BENCHMARK(buffers)->Apply(lab::counted);
BENCHMARK(standard_buffers)->Apply(lab::counted);
BENCHMARK(addresses)->Apply(lab::counted);
BENCHMARK(sockets)->Apply(lab::counted);
BENCHMARK(connections)->Apply(lab::counted);
BENCHMARK(turns)->Threads(2)->Iterations(100);

// Only counted, not timed: the time of the first would depend on what else is running, and that of
// the second on the cost of its hundred checks.
[[maybe_unused]] const bool counts = [] {
    if (std::getenv("HOTPATH_ITERATIONS") != nullptr) {
        benchmark::RegisterBenchmark("burst", burst)->Apply(lab::counted);
        benchmark::RegisterBenchmark("late", late)->Apply(lab::counted);
    }
    return true;
}();

}  // namespace
