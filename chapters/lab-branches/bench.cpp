#include <benchmark/benchmark.h>
#include <task.h>  // from the tree that is timed, not the one next to this file

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "counted.h"

namespace {

// Enough that no predictor learns the sequence by heart, and little enough for the L2 cache.
constexpr std::size_t many = 65'536;
constexpr std::size_t at_once = 64;  // clients that an iteration looks at
constexpr std::uint32_t now_ms = 1000;

// Half of the deadlines have passed.
std::vector<std::uint32_t> deadlines() {
    std::vector<std::uint32_t> found(many);
    std::minstd_rand random(7);
    for (std::uint32_t& deadline_ms : found) {
        deadline_ms = static_cast<std::uint32_t>(random() >> 8) % (2 * now_ms) + 1;
    }
    return found;
}

// The compiler must assume that the indices are read and that any number of clients is looked at.
// Otherwise it leaves out the writes, and with them the branch.
void collect(benchmark::State& state, std::span<const std::uint32_t> deadlines_ms) {
    std::array<std::uint32_t, at_once> expired{};
    benchmark::DoNotOptimize(expired.data());
    std::size_t clients = at_once;
    std::size_t begin = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(clients);
        benchmark::DoNotOptimize(
            web::collect_expired(deadlines_ms.subspan(begin, clients), now_ms, expired));
        benchmark::ClobberMemory();
        begin = (begin + at_once) % many;
    }
}

void expired_sorted(benchmark::State& state) {
    auto deadlines_ms = deadlines();
    std::ranges::sort(deadlines_ms);
    collect(state, deadlines_ms);
}

void expired_shuffled(benchmark::State& state) {
    collect(state, deadlines());
}

// Names of fields as browsers send them, in random order.
void field_names(benchmark::State& state) {
    static constexpr std::array<std::string_view, 12> names = {"Host: a",
                                                               "User-Agent: a",
                                                               "Accept: a",
                                                               "Accept-Language: a",
                                                               "Accept-Encoding: a",
                                                               "Connection: a",
                                                               "Upgrade-Insecure-Requests: 1",
                                                               "Sec-Fetch-Dest: a",
                                                               "If-None-Match: a",
                                                               "Cookie: a",
                                                               "content-length: 1",
                                                               "X-Forwarded-For: 1"};
    std::vector<std::string_view> fields(many);
    std::minstd_rand random(7);
    std::ranges::generate(fields, [&random] { return names[(random() >> 8) % names.size()]; });
    std::size_t at = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(web::token_length(fields[at]));
        at = (at + 1) % many;
    }
}

constexpr std::array<std::string_view, 9> lines = {
    "GET / HTTP/1.1",     "HEAD / HTTP/1.1",    "POST /echo HTTP/1.1",
    "PUT /a HTTP/1.1",    "DELETE /a HTTP/1.1", "CONNECT a:443 HTTP/1.1",
    "OPTIONS * HTTP/1.1", "TRACE / HTTP/1.1",   "PATCH /a HTTP/1.1"};

// Request lines of which one in `others` is not a GET.
void find(benchmark::State& state, std::size_t others) {
    std::vector<std::string_view> requests(many);
    std::minstd_rand random(7);
    std::ranges::generate(requests, [&random, others] {
        const std::size_t drawn = random() >> 8;
        return drawn % others == 0 ? lines[drawn / others % lines.size()] : lines[0];
    });
    std::size_t at = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(web::find_method(requests[at]));
        at = (at + 1) % many;
    }
}

void mostly_get(benchmark::State& state) {
    find(state, 20);
}

void mixed_methods(benchmark::State& state) {
    find(state, 1);
}

BENCHMARK(expired_sorted)->Apply(lab::counted);
BENCHMARK(expired_shuffled)->Apply(lab::counted);
BENCHMARK(field_names)->Apply(lab::counted);
BENCHMARK(mostly_get)->Apply(lab::counted);
BENCHMARK(mixed_methods)->Apply(lab::counted);

}  // namespace
