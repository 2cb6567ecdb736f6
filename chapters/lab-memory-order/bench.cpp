#include <benchmark/benchmark.h>
#include <task.h>  // of the tree that is timed, not the one beside this file

#include <thread>

#include "counted.h"

namespace {

// By one thread, which finds every line in its own cache: the instructions' own cost.
void letter(benchmark::State& state) {
    web::Mailbox box;
    web::Letter letter{};
    auto* seen_by_others = &box;
    benchmark::DoNotOptimize(seen_by_others);
    for (auto _ : state) {
        box.put(letter);
        benchmark::ClobberMemory();  // or the compiler sees that what is put in comes out
        box.take(letter);
        benchmark::ClobberMemory();
    }
}

// From one thread to another, who wait for each other: two lines go to and fro as well.
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
