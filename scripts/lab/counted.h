#pragma once

#include <benchmark/benchmark.h>

#include <cstdlib>

namespace lab {

// For BENCHMARK(…)->Apply(): exactly as many iterations as HOTPATH_ITERATIONS names, so that the
// difference of two runs under a tool that counts is what an iteration costs.
inline void counted(benchmark::internal::Benchmark* bench) {
    if (const char* iterations = std::getenv("HOTPATH_ITERATIONS")) {
        bench->Iterations(std::atol(iterations));
    }
}

}  // namespace lab
