// Collects the expired ones of many clients, of which the first argument says how many per thousand
// have expired, in random order, as often as the second says. Prints the nanoseconds of processor
// time that a client takes.
#include <task.h>  // from the tree that is timed

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

namespace {

constexpr std::size_t clients = 65'536;  // more than a predictor learns by heart
constexpr std::uint32_t now_ms = 1;

volatile std::size_t result;  // keeps the compiler from leaving out the work

double now_ns() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        return 1;
    }
    const auto share = std::strtoul(arguments[1], nullptr, 10);
    const auto times = std::strtoul(arguments[2], nullptr, 10);
    std::vector<std::uint32_t> deadlines_ms(clients), expired(clients);
    std::minstd_rand random(7);
    for (std::uint32_t& deadline_ms : deadlines_ms) {
        deadline_ms = (random() >> 8) % 1000 < share ? now_ms : now_ms + 1;
    }
    result = web::collect_expired(deadlines_ms, now_ms, expired);
    const double before = now_ns();
    for (std::size_t i = 0; i < times; ++i) {
        result = web::collect_expired(deadlines_ms, now_ms, expired) + expired[i % clients];
    }
    std::printf("%.4f\n", (now_ns() - before) / static_cast<double>(times * clients));
}
