// Sums up bytes, of which one in a hundred, in random order, is rare and takes another path. RARE
// is empty, likely or unlikely. The argument says how often all are summed up.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <vector>

#ifndef RARE
#define RARE
#endif

namespace {

volatile std::uint64_t noted, result;  // keep the compiler from leaving out the work

}  // namespace

// Functions of their own, so that objdump shows one alone, and the other path is a call.
extern "C" {

[[gnu::noinline]] void note(std::uint8_t byte) {
    noted = byte;
}

[[gnu::noinline]] std::uint64_t sum_up(std::span<const std::uint8_t> bytes) {
    std::uint64_t sum = 0;
    for (const std::uint8_t byte : bytes) {
        if (byte < 0x20) [[RARE]] {
            note(byte);
        } else {
            sum += byte;
        }
    }
    return sum;
}
}

int main(int count, char** arguments) {
    if (count != 2) {
        return 1;
    }
    std::vector<std::uint8_t> bytes(65'536);
    std::minstd_rand random(7);
    for (std::uint8_t& byte : bytes) {
        byte = (random() >> 8) % 100 == 0 ? 9 : 'a';
    }
    for (auto times = std::strtoul(arguments[1], nullptr, 10); times > 0; --times) {
        result = sum_up(bytes);
    }
}
