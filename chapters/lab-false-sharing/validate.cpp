#include <gtest/gtest.h>
#include <task.h>  // from the tree that is validated, not the one next to this file

#include <cstddef>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

namespace {

using web::Counters;

class Workers : public testing::TestWithParam<std::size_t> {
protected:
    std::size_t workers() const { return GetParam(); }

    std::uintptr_t address(std::size_t worker) const {
        return reinterpret_cast<std::uintptr_t>(counters_.place(worker));
    }

    Counters counters_{GetParam()};
};

TEST_P(Workers, NothingIsCountedAtFirst) {
    EXPECT_EQ(counters_.total(), 0u);
}

TEST_P(Workers, EveryCountIsInTheSum) {
    std::uint64_t sum = 0;
    for (std::size_t worker = 0; worker < workers(); ++worker) {
        for (std::size_t i = 0; i < 10 * worker + 1; ++i) {
            counters_.add(worker);
            EXPECT_EQ(counters_.total(), ++sum);
        }
    }
}

TEST_P(Workers, CountersAreApart) {
    std::set<std::uintptr_t> places;
    for (std::size_t worker = 0; worker < workers(); ++worker) {
        places.insert(address(worker));
        EXPECT_EQ(address(worker) % sizeof(std::uint64_t), 0u);
    }
    EXPECT_EQ(places.size(), workers());
}

// While the threads count, another one asks: it must never see a sum that shrinks, nor one that is
// too large.
TEST_P(Workers, ThreadsCountAtOnce) {
    constexpr std::uint64_t each = 5'000;
    const std::uint64_t all = each * workers();
    std::vector<std::thread> threads;
    for (std::size_t worker = 0; worker < workers(); ++worker) {
        threads.emplace_back([this, worker] {
            for (std::uint64_t i = 0; i < each; ++i) {
                counters_.add(worker);
            }
        });
    }
    std::uint64_t seen = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t now = counters_.total();
        EXPECT_LE(seen, now);
        EXPECT_LE(now, all);
        seen = now;
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(counters_.total(), all);
}

class GoalWorkers : public Workers {};

TEST_P(GoalWorkers, NoTwoShareALine) {
    std::set<std::uintptr_t> lines;
    for (std::size_t worker = 0; worker < workers(); ++worker) {
        lines.insert(address(worker) / web::cache_line);
    }
    EXPECT_EQ(lines.size(), workers());
}

// Nor may the data before the first counter or after the last share their lines.
TEST_P(GoalWorkers, NobodyElseIsOnALine) {
    for (std::size_t worker = 0; worker < workers(); ++worker) {
        EXPECT_EQ(address(worker) % web::cache_line, 0u);
    }
}

TEST_P(GoalWorkers, NoLineIsWasted) {
    for (std::size_t worker = 1; worker < workers(); ++worker) {
        EXPECT_EQ(address(worker) - address(worker - 1), web::cache_line);
    }
}

constexpr std::size_t awkward[] = {1, 2, 3, 7, 8, 9};
INSTANTIATE_TEST_SUITE_P(Some, Workers, testing::ValuesIn(awkward));
INSTANTIATE_TEST_SUITE_P(Some, GoalWorkers, testing::ValuesIn(awkward));

}  // namespace
