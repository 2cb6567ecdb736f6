#include <gtest/gtest.h>
#include <task.h>  // from the tree that is validated, not the one next to this file

#include <atomic>
#include <cstdint>
#include <thread>

namespace {

using web::Letter;
using web::Mailbox;

Letter written(std::uint64_t number) {
    return {number, {number + 1, number * 3, ~number}};
}

bool is_whole(const Letter& letter) {
    const Letter same = written(letter.number);
    return letter.words[0] == same.words[0] && letter.words[1] == same.words[1] &&
           letter.words[2] == same.words[2];
}

TEST(Box, IsEmptyAtFirst) {
    Mailbox box;
    Letter letter{};
    EXPECT_FALSE(box.take(letter));
    EXPECT_EQ(box.count(), 0u);
}

TEST(Box, HasRoomForOneLetter) {
    Mailbox box;
    Letter letter{};
    for (std::uint64_t number = 0; number < 100; ++number) {
        EXPECT_TRUE(box.put(written(number)));
        EXPECT_FALSE(box.put(written(number + 1000)));
        EXPECT_EQ(box.count(), number + 1);
        EXPECT_TRUE(box.take(letter));
        EXPECT_EQ(letter.number, number);
        EXPECT_TRUE(is_whole(letter));
        EXPECT_FALSE(box.take(letter));
    }
}

// The thread sanitizer checks what each thread may rely on, whatever this processor does.
TEST(Threads, EveryLetterArrivesOnceInOrderAndWhole) {
    constexpr std::uint64_t letters = 200;
    Mailbox box;
    std::thread writer([&box] {
        for (std::uint64_t number = 0; number < letters; ++number) {
            while (!box.put(written(number))) {
                std::this_thread::yield();
            }
        }
    });
    Letter letter{};
    for (std::uint64_t number = 0; number < letters; ++number) {
        while (!box.take(letter)) {
            std::this_thread::yield();
        }
        EXPECT_EQ(letter.number, number);
        EXPECT_TRUE(is_whole(letter));
    }
    writer.join();
    EXPECT_FALSE(box.take(letter));
    EXPECT_EQ(box.count(), letters);
}

TEST(Threads, AThirdMayAskHowManyThereWere) {
    constexpr std::uint64_t letters = 5'000;
    Mailbox box;
    std::thread writer([&box] {
        Letter taken{};
        for (std::uint64_t number = 0; number < letters; ++number) {
            EXPECT_TRUE(box.put(written(number)));
            EXPECT_TRUE(box.take(taken));
        }
    });
    std::uint64_t seen = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t now = box.count();
        EXPECT_LE(seen, now);
        EXPECT_LE(now, letters);
        seen = now;
    }
    writer.join();
    EXPECT_EQ(box.count(), letters);
}

}  // namespace
