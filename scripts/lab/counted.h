#pragma once

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace lab {

// For BENCHMARK(…)->Apply(): exactly as many iterations as HOTPATH_ITERATIONS names, so that the
// difference of two runs under a tool that counts is what an iteration costs. Another thread sleeps
// meanwhile, as in a server: in a process of one thread a mutex of glibc locks no line of memory.
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
