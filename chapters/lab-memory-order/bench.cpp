#include <benchmark/benchmark.h>
#include <task.h>  // from the tree that is timed, not the one next to this file

#include <thread>

#include "counted.h"

namespace {

// By a single thread, which has every cache line in its own cache: measures the instructions alone.
void letter(benchmark::State& state) {
    web::Mailbox box;
    web::Letter letter{};
    auto* seen_by_others = &box;
    benchmark::DoNotOptimize(seen_by_others);
    for (auto _ : state) {
        box.put(letter);
        // otherwise the compiler forwards the letter from put() to its receiver
        benchmark::ClobberMemory();
        box.take(letter);
        benchmark::ClobberMemory();
    }
}

// Between two threads that wait for each other, so two cache lines travel back and forth as well.
void between_threads(benchmark::State& state) {
    static web::Mailbox there, back;
    web::Letter letter{};
    const bool first = state.thread_index() == 0;
    for (auto _ : state) {
        if (first) {
            while (!there.put(letter)) {
                std::this_thread::yield();
            }
        }
        while (!(first ? back : there).take(letter)) {
            std::this_thread::yield();
        }
        if (!first) {
            while (!back.put(letter)) {
                std::this_thread::yield();
            }
        }
    }
}

BENCHMARK(letter)->Apply(lab::counted);
BENCHMARK(between_threads)->Apply(lab::counted)->Threads(2)->UseRealTime();

}  // namespace
