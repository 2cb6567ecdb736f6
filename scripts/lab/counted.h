#pragma once

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace lab {

// For BENCHMARK(…)->Apply(): runs exactly HOTPATH_ITERATIONS iterations, so that the difference of
// two runs under a counting tool is the cost of the additional iterations. Another thread sleeps
// meanwhile, as in a server, because in a process with one thread glibc's mutex uses no locked
// instructions.
inline void counted(benchmark::internal::Benchmark* bench) {
    if (const char* iterations = std::getenv("HOTPATH_ITERATIONS")) {
        [[maybe_unused]] static const bool accompanied = [] {
            std::thread(::pause).detach();
            return true;
        }();
        bench->Iterations(std::atol(iterations));
    }
}

}  // namespace lab
