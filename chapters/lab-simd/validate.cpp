#include <gtest/gtest.h>
#include <sys/mman.h>
#include <task.h>  // from the tree that is validated, not the one next to this file
#include <two_passes.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using web::HeadEnd;
using web::Progress;
using web::Variant;

// The definition, written in another way than the code that is tested.
constexpr std::string_view controls{
    "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17"
    "\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f",
    32};

// What is next to a control byte: both sides of each bound, and bytes with the highest bit.
constexpr std::string_view telling{"\x00\x08\x09\x0a\x0d\x1f\x20\x7e\x7f\x80\x89\x9f\xff", 13};

constexpr std::size_t max_size = 100;  // three of the widest steps and a few bytes

class Every : public testing::TestWithParam<Variant> {
protected:
    // Where the variant finds a control byte in [begin, end), as an offset.
    static std::size_t find(const char* begin, const char* end) {
        return static_cast<std::size_t>(GetParam().find(begin, end) - begin);
    }

    static std::size_t find(std::string_view text) {
        return find(text.data(), text.data() + text.size());
    }

    static std::size_t expected(std::string_view text) {
        return std::min(text.find_first_of(controls), text.size());
    }
};

INSTANTIATE_TEST_SUITE_P(, Every,
                         testing::ValuesIn(std::begin(web::variants), std::end(web::variants)),
                         [](const auto& each) { return "Step" + std::to_string(each.param.step); });

// A variant that this processor doesn't have would end the program.
#define SKIP_UNLESS_SUPPORTED() \
    if (GetParam().step > web::widest_step()) GTEST_SKIP() << "this processor has no such step"

TEST_P(Every, FindsEveryByteValueAtEveryPosition) {
    SKIP_UNLESS_SUPPORTED();
    for (std::size_t size = 0; size <= max_size; ++size) {
        std::string text(size, 'x');
        ASSERT_EQ(find(text), size);
        for (std::size_t at = 0; at < size; ++at) {
            for (int value = 0; value < 256; ++value) {
                text[at] = static_cast<char>(value);
                ASSERT_EQ(find(text), controls.contains(text[at]) ? at : size)
                    << "byte " << value << " at " << at << " of " << size;
            }
            text[at] = 'x';
        }
    }
}

TEST_P(Every, FindsTheSameAtEveryAlignment) {
    SKIP_UNLESS_SUPPORTED();
    alignas(64) char memory[64 + max_size];
    std::memset(memory, '\n', sizeof memory);  // what is around the text isn't part of it
    for (std::size_t start = 0; start < 64; ++start) {
        char* const text = memory + start;
        for (std::size_t size = 0; size <= max_size - 32; ++size) {
            std::memset(text, 'x', size);
            ASSERT_EQ(find(text, text + size), size) << "from " << start;
            for (std::size_t at = 0; at < size; ++at) {
                text[at] = '\r';
                ASSERT_EQ(find(text, text + size), at) << "from " << start << ", size " << size;
                text[at] = 'x';
            }
            std::memset(text, '\n', size);
        }
    }
}

// A sum or a difference must not carry into the next byte, and the first byte must be found, not
// the last.
TEST_P(Every, FindsTheFirstOfTwo) {
    SKIP_UNLESS_SUPPORTED();
    std::string text(70, 'x');
    for (std::size_t first = 0; first < text.size(); ++first) {
        for (std::size_t distance = 1; distance <= 9 && first + distance < text.size();
             ++distance) {
            for (const char one : telling) {
                for (const char other : telling) {
                    text[first] = one;
                    text[first + distance] = other;
                    ASSERT_EQ(find(text), expected(text))
                        << "bytes " << int(one) << ' ' << int(other) << " at " << first << " and "
                        << distance << " after it";
                }
            }
            text[first + distance] = 'x';
        }
        text[first] = 'x';
    }
}

// With a page on each side that may not be read. A read of one byte too many ends the program.
TEST_P(Every, ReadsNoOtherPage) {
    SKIP_UNLESS_SUPPORTED();
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const mapped = ::mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    char* const begin = static_cast<char*>(mapped) + page;
    char* const end = begin + page;
    ASSERT_EQ(::mprotect(begin, page, PROT_READ | PROT_WRITE), 0);
    std::memset(begin, 'x', page);
    for (std::size_t size = 0; size <= max_size; ++size) {
        ASSERT_EQ(find(end - size, end), size);
        ASSERT_EQ(find(begin, begin + size), size);
    }
    ASSERT_EQ(find(begin, end), page);
    ::munmap(mapped, 3 * page);
}

// The address sanitizer reports a read outside a block from the heap, even within its page.
TEST_P(Every, ReadsNothingAroundTheText) {
    SKIP_UNLESS_SUPPORTED();
    for (std::size_t size = 1; size <= max_size; ++size) {
        const auto text = std::make_unique<char[]>(size);
        std::memset(text.get(), 'x', size);
        ASSERT_EQ(find(text.get(), text.get() + size), size);
    }
}

// Texts with few control bytes and with many, the same in each run.
TEST_P(Every, AgreesOnRandomTexts) {
    SKIP_UNLESS_SUPPORTED();
    std::mt19937 random(7);
    for (int turn = 0; turn < 50'000; ++turn) {
        std::string text(random() % 300, 'x');
        const auto rarity = 1 + random() % 200;
        for (char& c : text) {
            c = static_cast<char>(random() % rarity == 0 ? random() : 0x20 + random() % 0x5f);
        }
        ASSERT_EQ(find(text), expected(text)) << "turn " << turn << ": " << text;
    }
}

constexpr std::string_view good[] = {"\r\n", "GET / HTTP/1.1\r\n\r\n",
                                     "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                                     "GET /a/rather/long/path?with=a&query HTTP/1.1\r\nHost: "
                                     "localhost\r\nX:\tone\t\xc3\xa9\r\n\r\n"};

TEST_P(Every, HeadEndsAtItsEmptyLine) {
    SKIP_UNLESS_SUPPORTED();
    for (const std::string_view head : good) {
        for (const std::string_view after : {"", "x", "\n", "\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"}) {
            const auto [progress, size] =
                web::find_head_end(std::string(head).append(after), GetParam().find);
            EXPECT_EQ(progress, Progress::complete) << head;
            EXPECT_EQ(size, head.size()) << head;
        }
        for (std::size_t size = 0; size < head.size(); ++size) {
            const std::string part(head.substr(0, size));
            EXPECT_EQ(web::find_head_end(part, GetParam().find).progress, Progress::incomplete)
                << size << " bytes of " << head;
        }
    }
}

TEST_P(Every, ControlByteIsRefusedAnywhereInAHead) {
    SKIP_UNLESS_SUPPORTED();
    for (const std::string_view head : good) {
        for (std::size_t at = 0; at + 2 < head.size(); ++at) {
            for (const char control : controls) {
                std::string bytes(head);
                bytes.insert(at, 1, control);
                // An LF after a CR ends a line, and a CR before one does.
                if (bytes.substr(at, 2) == "\r\n" || (at > 0 && bytes.substr(at - 1, 2) == "\r\n"))
                    continue;
                EXPECT_EQ(web::find_head_end(bytes, GetParam().find).progress, Progress::malformed)
                    << "byte " << int(control) << " at " << at << " of " << head;
            }
        }
    }
}

// The comparison on the page is with code that gives the same answers.
TEST(TwoPasses, AgreeWithOne) {
    std::mt19937 random(7);
    constexpr std::string_view bytes{"\r\n\t\x7f\0xxxxxxxxxxxxxxxxxxxxxxx", 28};
    for (int turn = 0; turn < 200'000; ++turn) {
        std::string head(random() % 80, 'x');
        for (char& c : head)
            c = bytes[random() % bytes.size()];
        head += "\r\n\r\n";
        const HeadEnd one = web::find_head_end(head), two = web::find_head_end_in_two_passes(head);
        ASSERT_EQ(one.progress, two.progress) << head;
        ASSERT_EQ(one.size, two.size) << head;
    }
}

bool has_avx2() {
#if defined(__linux__) && defined(__x86_64__)
    std::ifstream file("/proc/cpuinfo");
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return text.contains(" avx2 ");
#else
    return web::widest_step() == 32;
#endif
}

TEST(GoalDispatch, ProgramUsesTheWidestStepOfTheProcessor) {
    ASSERT_EQ(web::widest_step(), has_avx2() ? 32 : 16);
    const Variant& last = web::variants_up_to(web::widest_step()).back();
    EXPECT_EQ(last.step, web::widest_step());
    EXPECT_EQ(web::find_control, last.find);
}

TEST(GoalDispatch, NoStepIsWiderThanTheProcessors) {
    for (const int step : {1, 8, 16}) {
        const auto found = web::variants_up_to(step);
        EXPECT_EQ(found.back().step, step);
        EXPECT_EQ(web::choose(step), found.back().find);
    }
    EXPECT_EQ(web::choose(31), web::choose(16));
}

}  // namespace
