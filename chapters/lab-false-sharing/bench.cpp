#include <benchmark/benchmark.h>
#include <task.h>  // from the tree that is timed, not the one next to this file

#include <cstddef>

#include "counted.h"

namespace {

constexpr int many = 64;  // operations in one iteration, so that the loop around them costs little

// What a worker does alone. The result does not depend on where the counters are in memory.
void alone(benchmark::State& state) {
    web::Counters counters(2);
    for (auto _ : state) {
        for (int i = 0; i < many; ++i) {
            counters.add(0);
        }
    }
    benchmark::DoNotOptimize(counters.total());
}

// Two workers, each with its own counter.
void together(benchmark::State& state) {
    static web::Counters counters(2);
    const auto worker = static_cast<std::size_t>(state.thread_index());
    for (auto _ : state) {
        for (int i = 0; i < many; ++i) {
            counters.add(worker);
        }
    }
    benchmark::DoNotOptimize(counters.total());
}

BENCHMARK(alone)->Apply(lab::counted);
BENCHMARK(together)->Apply(lab::counted)->Threads(2)->UseRealTime();

}  // namespace
