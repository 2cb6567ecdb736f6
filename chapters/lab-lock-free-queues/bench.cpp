#include <benchmark/benchmark.h>
#include <task.h>  // from the tree that is timed, not the one next to this file

#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>

#include "counted.h"

#if __has_include(<boost/lockfree/queue.hpp>)
#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#define HAS_BOOST
#endif

namespace {

using Element = std::uint64_t;

constexpr std::size_t capacity = 1024;

template <class Queue>
void put(Queue& queue, Element element) {
    while (!queue.push(Element{element})) {
        std::this_thread::yield();
    }
}

template <class Queue>
Element taken(Queue& queue) {
    while (true) {
        if (const auto element = queue.pop()) {
            return *element;
        }
        std::this_thread::yield();
    }
}

// One element through each of the four queues, by a single thread that has everything in its own
// cache.
void element(benchmark::State& state) {
    web::SpscQueue<Element> spsc(capacity);
    web::MpscQueue<Element> mpsc(capacity);
    web::SpmcQueue<Element> spmc(capacity);
    web::MpmcQueue<Element> mpmc(capacity);
    const auto pass = [](auto& queue) {
        queue.push(1);
        benchmark::DoNotOptimize(queue.pop());
        benchmark::ClobberMemory();
    };
    for (auto _ : state) {
        pass(spsc);
        pass(mpsc);
        pass(spmc);
        pass(mpmc);
    }
}

// The first threads put elements in, the others take them out. An iteration is one element per
// thread on the side that has more threads.
template <class Queue, int producers, int consumers>
void between(benchmark::State& state) {
    static Queue queue(capacity);
    constexpr int more = producers > consumers ? producers : consumers;
    const bool puts = state.thread_index() < producers;
    const int each = more / (puts ? producers : consumers);
    for (auto _ : state) {
        for (int i = 0; i < each; ++i) {
            if (puts) {
                put(queue, 1);
            } else {
                benchmark::DoNotOptimize(taken(queue));
            }
        }
    }
}

// Measures the processor time of all threads, including the time they spend waiting.
void timed(benchmark::internal::Benchmark* bench) {
    lab::counted(bench);
    bench->MeasureProcessCPUTime();
}

BENCHMARK(element)->Apply(lab::counted);
BENCHMARK(between<web::SpscQueue<Element>, 1, 1>)->Name("spsc")->Threads(2)->Apply(timed);
BENCHMARK(between<web::MpscQueue<Element>, 2, 1>)->Name("mpsc")->Threads(3)->Apply(timed);
BENCHMARK(between<web::SpmcQueue<Element>, 1, 2>)->Name("spmc")->Threads(3)->Apply(timed);
BENCHMARK(between<web::MpmcQueue<Element>, 2, 2>)->Name("mpmc")->Threads(4)->Apply(timed);

#ifdef HAS_BOOST

// One of Boost's queues. After construction it does not allocate either.
template <class Queue>
class Boost {
public:
    explicit Boost(std::size_t size) : queue_(size) {}

    bool push(Element element) {
        if constexpr (requires { queue_.bounded_push(element); }) {
            return queue_.bounded_push(element);
        } else {
            return queue_.push(element);
        }
    }

    std::optional<Element> pop() {
        Element found;
        return queue_.pop(found) ? std::optional(found) : std::nullopt;
    }

private:
    Queue queue_;
};

using BoostSpsc = Boost<boost::lockfree::spsc_queue<Element>>;
using BoostQueue = Boost<boost::lockfree::queue<Element>>;

BENCHMARK(between<BoostSpsc, 1, 1>)->Name("boost_spsc")->Threads(2)->Apply(timed);
BENCHMARK(between<BoostQueue, 2, 1>)->Name("boost_mpsc")->Threads(3)->Apply(timed);
BENCHMARK(between<BoostQueue, 1, 2>)->Name("boost_spmc")->Threads(3)->Apply(timed);
BENCHMARK(between<BoostQueue, 2, 2>)->Name("boost_mpmc")->Threads(4)->Apply(timed);

#endif

}  // namespace
