#include <gtest/gtest.h>
#include <task.h>  // from the tree that is validated, not the one next to this file

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using web::Method;

// In memory of just that size, so that the address sanitizer sees each access beyond it.
std::vector<std::uint32_t> expired(const std::vector<std::uint32_t>& deadlines_ms,
                                   std::uint32_t now_ms) {
    std::vector<std::uint32_t> found(deadlines_ms.size());
    found.resize(web::collect_expired(deadlines_ms, now_ms, found));
    return found;
}

using Clients = std::vector<std::uint32_t>;

TEST(Expired, NoClients) {
    EXPECT_EQ(expired({}, 7), Clients{});
}

TEST(Expired, DeadlineNowHasPassed) {
    EXPECT_EQ(expired({8, 7, 6, 7, 9}, 7), (Clients{1, 2, 3}));
}

TEST(Expired, NoneHasPassed) {
    EXPECT_EQ(expired({8, 9, 8}, 7), Clients{});
}

TEST(Expired, AllHavePassed) {
    EXPECT_EQ(expired({1, 7, 0}, 7), (Clients{0, 1, 2}));
}

TEST(Expired, LastClientAlone) {
    EXPECT_EQ(expired({8, 9, 3}, 7), Clients{2});
}

TEST(Expired, LargestTimesAreCompared) {
    EXPECT_EQ(expired({0xFFFF'FFFF, 0, 0x8000'0000}, 0xFFFF'FFFF), (Clients{0, 1, 2}));
    EXPECT_EQ(expired({0xFFFF'FFFF, 0, 0x8000'0000}, 0), Clients{1});
}

TEST(Expired, ManyClients) {
    std::vector<std::uint32_t> deadlines_ms(10'000);
    std::minstd_rand random(7);
    std::ranges::generate(deadlines_ms, [&random] { return random() % 100; });
    Clients wanted;
    for (std::uint32_t client = 0; client < deadlines_ms.size(); ++client) {
        if (deadlines_ms[client] <= 49) {
            wanted.push_back(client);
        }
    }
    EXPECT_EQ(expired(deadlines_ms, 49), wanted);
}

std::size_t token_length(std::string_view text) {
    const std::vector<char> copy(text.begin(), text.end());
    return web::token_length({copy.data(), copy.size()});
}

TEST(Tokens, EmptyText) {
    EXPECT_EQ(token_length(""), 0);
}

TEST(Tokens, WholeText) {
    EXPECT_EQ(token_length("Content-Length"), 14);
}

TEST(Tokens, EndsAtColon) {
    EXPECT_EQ(token_length("Host: localhost"), 4);
}

TEST(Tokens, NoneAtBeginning) {
    EXPECT_EQ(token_length(" Host"), 0);
}

TEST(Tokens, EveryByte) {
    static constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
    for (int value = 0; value < 256; ++value) {
        const bool allowed = (value >= '0' && value <= '9') || (value >= 'A' && value <= 'Z') ||
                             (value >= 'a' && value <= 'z') ||
                             (value != 0 && value < 128 &&
                              marks.find(static_cast<char>(value)) != std::string_view::npos);
        EXPECT_EQ(token_length(std::string(1, static_cast<char>(value))), allowed ? 1u : 0u)
            << "byte " << value;
    }
}

Method method_of(std::string_view line) {
    const std::vector<char> copy(line.begin(), line.end());
    return web::find_method({copy.data(), copy.size()});
}

constexpr std::array<std::pair<std::string_view, Method>, 9> methods = {{
    {"GET", Method::get},
    {"HEAD", Method::head},
    {"POST", Method::post},
    {"PUT", Method::put},
    {"DELETE", Method::del},
    {"CONNECT", Method::connect},
    {"OPTIONS", Method::options},
    {"TRACE", Method::trace},
    {"PATCH", Method::patch},
}};

TEST(Methods, EachIsFound) {
    for (const auto& [name, method] : methods) {
        EXPECT_EQ(method_of(std::string(name) + " / HTTP/1.1"), method) << name;
        EXPECT_EQ(method_of((std::string(name) + " /////").substr(0, web::min_line)), method)
            << name;
    }
}

TEST(Methods, SpaceMustFollow) {
    for (const auto& [name, method] : methods) {
        for (const char following : {'S', '\t', '\r', '/', '\0'}) {
            EXPECT_EQ(method_of(std::string(name) + following + " / HTTP/1.1"), Method::unknown)
                << name << " and byte " << static_cast<int>(following);
        }
    }
}

TEST(Methods, CaseMatters) {
    EXPECT_EQ(method_of("get / HTTP/1.1"), Method::unknown);
    EXPECT_EQ(method_of("Post / HTTP/1.1"), Method::unknown);
}

TEST(Methods, EachChangedByteIsNoticed) {
    for (const auto& [name, method] : methods) {
        for (std::size_t at = 0; at < name.size(); ++at) {
            for (int change = 1; change < 256; ++change) {
                std::string line = std::string(name) + " / HTTP/1.1";
                line[at] = static_cast<char>(line[at] ^ change);
                EXPECT_EQ(method_of(line), Method::unknown) << name << ", byte " << at;
            }
        }
    }
}

TEST(Methods, OthersAreUnknown) {
    for (const std::string_view line :
         {"PROPFIND / HTTP/1.1", "QUERY / HTTP/1.1", " GET / HTTP/1.1", "        ", "G / HTTP/1.1",
          "GE / HTTP/1.1", "PUTT / HTTP/1.1", "DELE / HTTP/1.1", "CONN / HTTP/1.1"}) {
        EXPECT_EQ(method_of(line), Method::unknown) << line;
    }
    EXPECT_EQ(method_of(std::string(web::min_line, '\0')), Method::unknown);
}

}  // namespace
