#include <benchmark/benchmark.h>
#include <task.h>  // from the tree that is timed, not the one next to this file

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>

#include "counted.h"

namespace {

template <std::size_t size>
struct Value {
    explicit Value(std::uint8_t byte) { bytes[0] = byte; }
    std::array<std::uint8_t, size> bytes;
};

constexpr std::size_t window = 500;

// Destroys one object and makes another, among some hundreds and in random order, as a server does
// with connections.
template <std::size_t size>
void churn(benchmark::State& state) {
    using Pool = web::ObjectPool<Value<size>>;
    std::array<Value<size>*, window> kept;
    for (auto& object : kept) {
        object = Pool::create(std::uint8_t{1});
    }
    std::minstd_rand random;
    for (auto _ : state) {
        auto& object = kept[random() % window];
        Pool::destroy(object);
        object = Pool::create(std::uint8_t{1});
        benchmark::DoNotOptimize(object->bytes[0]);
    }
    for (auto* object : kept) {
        Pool::destroy(object);
    }
}

// The same by several threads, each of which destroys objects that others made.
template <std::size_t size>
void shared_churn(benchmark::State& state) {
    using Pool = web::ObjectPool<Value<size>>;
    static std::array<std::atomic<Value<size>*>, window> kept;
    std::minstd_rand random(static_cast<unsigned>(state.thread_index()) + 1);
    for (auto _ : state) {
        auto* fresh = Pool::create(std::uint8_t{1});
        // Acquire and release, so that the thread that takes an object out sees all that its maker
        // wrote.
        if (auto* old = kept[random() % window].exchange(fresh, std::memory_order_acq_rel)) {
            Pool::destroy(old);
        }
    }
}

BENCHMARK(churn<1>)->Apply(lab::counted);
BENCHMARK(churn<512>)->Apply(lab::counted);
BENCHMARK(churn<1024>)->Apply(lab::counted);
BENCHMARK(shared_churn<1>)->Apply(lab::counted)->Threads(2)->UseRealTime();
BENCHMARK(shared_churn<512>)->Apply(lab::counted)->Threads(2)->UseRealTime();
BENCHMARK(shared_churn<1024>)->Apply(lab::counted)->Threads(2)->UseRealTime();

}  // namespace
