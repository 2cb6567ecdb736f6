#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <task.h>  // from the tree that is validated, not the one next to this file
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Sizes = std::vector<std::size_t>;
using Left = std::span<iovec>;

// Buffers of these sizes, each in its own memory, so that the sanitizer detects any access beyond
// its end.
class Buffers {
public:
    explicit Buffers(const Sizes& sizes) {
        for (const std::size_t size : sizes) {
            bytes_.emplace_back(size);
        }
        for (auto& each : bytes_) {
            views_.push_back({each.data(), each.size()});
        }
    }

    // Filled with bytes that do not repeat.
    static Buffers filled(const Sizes& sizes) {
        Buffers made(sizes);
        std::minstd_rand random(7);
        for (auto& each : made.bytes_) {
            std::ranges::generate(each, [&] { return static_cast<char>(random() >> 8); });
        }
        return made;
    }

    Left views() { return views_; }

    std::string joined() const {
        std::string all;
        for (const auto& each : bytes_) {
            all.append(each.data(), each.size());
        }
        return all;
    }

private:
    std::vector<std::vector<char>> bytes_;
    std::vector<iovec> views_;
};

std::size_t size_of(std::span<const iovec> buffers) {
    std::size_t size = 0;
    for (const iovec& buffer : buffers) {
        size += buffer.iov_len;
    }
    return size;
}

std::size_t max_per_call() {
    return static_cast<std::size_t>(std::max(::sysconf(_SC_IOV_MAX), 16L));
}

// Some of them are empty, also at the beginning and end of a call.
Sizes more_than_two_calls_take() {
    Sizes sizes(2 * max_per_call() + 5, 3);
    for (std::size_t i = 0; i < sizes.size(); i += max_per_call() / 16) {
        sizes[i] = 0;
    }
    return sizes;
}

std::vector<Sizes> cuts() {
    return {{},
            {0, 0},
            {1},
            {0, 1, 0, 0, 2, 0},
            Sizes(16, 1024),
            {300'000},
            {3, 100'000, 0, 5'000, 1, 999, 0},
            Sizes(300, 1'001),
            more_than_two_calls_take()};
}

// Two connected sockets. The first has a small send buffer.
class Pair {
public:
    explicit Pair(int type = SOCK_STREAM) {
        EXPECT_EQ(::socketpair(AF_UNIX, type, 0, ends_), 0);
        if (type == SOCK_STREAM) {
            const int little = 4096;
            ::setsockopt(near(), SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
        }
        web::disable_sigpipe(near());
        web::disable_sigpipe(far());
    }

    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;

    ~Pair() {
        close_far();
        ::close(near());
    }

    int near() const { return ends_[0]; }
    int far() const { return ends_[1]; }

    void close_far() {
        if (far() >= 0) {
            ::close(std::exchange(ends_[1], -1));
        }
    }

    void end_of_near() const { ::shutdown(near(), SHUT_WR); }

private:
    int ends_[2]{-1, -1};
};

void never_wait(int socket) {
    ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
}

std::string read_some(int socket, std::size_t limit) {
    std::string bytes(limit, '\0');
    const ssize_t count = ::recv(socket, bytes.data(), limit, 0);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return bytes;
}

std::string read_to_end(int socket) {
    std::string all;
    for (std::string some = read_some(socket, 5'000); !some.empty();) {
        all += some;
        some = read_some(socket, 5'000);
    }
    return all;
}

// Writes `piece` bytes at a time.
void write_all(int socket, const std::string& bytes, std::size_t piece) {
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        const std::size_t size = std::min(piece, bytes.size() - at);
        EXPECT_EQ(::send(socket, &bytes[at], size, 0), static_cast<ssize_t>(size));
    }
}

// Interrupts the blocking calls of a thread with EINTR, again and again.
class Interrupts {
public:
    Interrupts() {
        struct sigaction action{};
        action.sa_handler = [](int) { ++handled_; };  // and without SA_RESTART
        ::sigaction(SIGUSR1, &action, nullptr);
    }

    // Returns when the thread has received `count` signals, with some time between them.
    void send(pthread_t thread, int count) const {
        for (; count > 0; --count) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            const int before = handled_;
            ::pthread_kill(thread, SIGUSR1);
            while (handled_ == before) {
                std::this_thread::yield();
            }
        }
    }

private:
    static inline std::atomic<int> handled_ = 0;
};

TEST(Send, AllArrivesInOrder) {
    for (const Sizes& sizes : cuts()) {
        const Pair pair;
        auto buffers = Buffers::filled(sizes);
        const std::string all = buffers.joined();
        std::string got;
        std::jthread reader([&] { got = read_to_end(pair.far()); });
        Left left = buffers.views();
        const auto [bytes, error] = web::send(pair.near(), left);
        pair.end_of_near();
        reader.join();
        EXPECT_EQ(bytes, all.size());
        EXPECT_FALSE(error) << error.message();
        EXPECT_TRUE(left.empty());
        EXPECT_TRUE(got == all) << got.size() << " bytes came of " << all.size();
    }
}

// The reader takes few bytes at a time, and the socket's buffer is small, so most calls end in the
// middle of a buffer.
TEST(Send, WhatANonBlockingSocketTakesIsSaid) {
    for (const Sizes& sizes : cuts()) {
        const Pair pair;
        never_wait(pair.near());
        never_wait(pair.far());
        auto buffers = Buffers::filled(sizes);
        const std::string all = buffers.joined();
        std::string got;
        Left left = buffers.views();
        for (std::size_t sent = 0; got.size() < all.size();) {
            const auto [bytes, error] = web::send(pair.near(), left);
            sent += bytes;
            ASSERT_EQ(size_of(left), all.size() - sent);
            if (left.empty()) {
                EXPECT_FALSE(error) << error.message();
            } else {
                EXPECT_EQ(error, std::errc::operation_would_block);
            }
            const std::string some = read_some(pair.far(), 777);
            got += some;
            ASSERT_TRUE(all.starts_with(got)) << "it goes wrong after " << got.size() - some.size();
            ASSERT_FALSE(some.empty()) << got.size() << " bytes came of " << sent;
        }
        EXPECT_EQ(web::send(pair.near(), left).bytes, 0u);
        EXPECT_EQ(read_some(pair.far(), 1), "");
    }
}

TEST(Send, AnInterruptedCallIsMadeAgain) {
    const Pair pair;
    const Interrupts interrupts;
    auto buffers = Buffers::filled(Sizes(300, 1'001));
    const std::string all = buffers.joined();
    std::string got;
    std::jthread reader([&, sender = ::pthread_self()] {
        interrupts.send(sender, 20);
        got = read_to_end(pair.far());
    });
    Left left = buffers.views();
    const auto [bytes, error] = web::send(pair.near(), left);
    pair.end_of_near();
    reader.join();
    EXPECT_EQ(bytes, all.size());
    EXPECT_FALSE(error) << error.message();
    EXPECT_TRUE(got == all) << got.size() << " bytes came of " << all.size();
}

TEST(Send, APeerThatHasGoneIsAnErrorAndNoSignal) {
    std::signal(SIGPIPE, SIG_DFL);
    Pair pair;
    never_wait(pair.near());
    auto buffers = Buffers::filled(Sizes(300, 1'001));
    Left left = buffers.views();
    const std::size_t sent = web::send(pair.near(), left).bytes;
    EXPECT_GT(sent, 0u);
    pair.close_far();
    const auto [bytes, error] = web::send(pair.near(), left);
    EXPECT_EQ(error, std::errc::broken_pipe);
    EXPECT_EQ(bytes, 0u);
    EXPECT_EQ(size_of(left), 300 * 1'001 - sent);
}

TEST(Send, AnErrorSendsNothing) {
    auto buffers = Buffers::filled({0, 5, 7});
    Left left = buffers.views();
    const auto [bytes, error] = web::send(-1, left);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    EXPECT_EQ(bytes, 0u);
    EXPECT_EQ(size_of(left), 12u);
}

TEST(Receive, AllBuffersAreFilledInOrder) {
    for (const std::size_t piece : {3uz, 1'000uz, 1'000'000uz}) {
        for (const Sizes& sizes : cuts()) {
            const Pair pair;
            const std::string all = Buffers::filled(sizes).joined();
            Buffers buffers(sizes);
            std::jthread writer([&] { write_all(pair.far(), all + "more", piece); });
            Left left = buffers.views();
            const auto [bytes, error] = web::receive(pair.near(), left);
            EXPECT_EQ(bytes, all.size());
            EXPECT_FALSE(error) << error.message();
            EXPECT_TRUE(left.empty());
            EXPECT_TRUE(buffers.joined() == all) << sizes.size() << " buffers";
            writer.join();
            EXPECT_EQ(read_some(pair.near(), 10), "more");
        }
    }
}

TEST(Receive, WhatThereIsIsSaid) {
    const Pair pair;
    never_wait(pair.near());
    Buffers buffers({4, 0, 4, 4, 0, 4, 0});
    Left left = buffers.views();
    std::size_t got = 0;
    for (const std::string piece : {"", "abcdef", "gh", "ij", "klmnop"}) {
        write_all(pair.far(), piece, 16);
        const auto [bytes, error] = web::receive(pair.near(), left);
        EXPECT_EQ(bytes, piece.size());
        got += bytes;
        EXPECT_EQ(size_of(left), 16 - got);
        EXPECT_EQ(error,
                  got < 16 ? std::error_code(EAGAIN, std::system_category()) : std::error_code());
    }
    EXPECT_TRUE(left.empty());
    EXPECT_EQ(buffers.joined(), "abcdefghijklmnop");
}

TEST(Receive, AnEndLeavesTheRestEmpty) {
    Pair pair;
    write_all(pair.far(), "abcdefgh", 8);
    pair.close_far();
    Buffers buffers({0, 4, 0, 4, 0, 4, 0});
    Left left = buffers.views();
    const auto [bytes, error] = web::receive(pair.near(), left);
    EXPECT_EQ(bytes, 8u);
    EXPECT_FALSE(error) << error.message();
    EXPECT_EQ(size_of(left), 4u);
    EXPECT_EQ(buffers.joined(), std::string("abcdefgh\0\0\0\0", 12));
}

TEST(Receive, AnInterruptedCallIsMadeAgain) {
    const Pair pair;
    const Interrupts interrupts;
    Buffers buffers({10, 10});
    std::jthread writer([&, reader = ::pthread_self()] {
        for (const std::string piece : {"abcd", "efghijklmn", "opqrst"}) {
            interrupts.send(reader, 5);
            write_all(pair.far(), piece, 10);
        }
    });
    Left left = buffers.views();
    const auto [bytes, error] = web::receive(pair.near(), left);
    EXPECT_EQ(bytes, 20u);
    EXPECT_FALSE(error) << error.message();
    EXPECT_EQ(buffers.joined(), "abcdefghijklmnopqrst");
}

TEST(Receive, AnErrorFillsNothing) {
    Buffers buffers({0, 5, 7});
    Left left = buffers.views();
    const auto [bytes, error] = web::receive(-1, left);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    EXPECT_EQ(bytes, 0u);
    EXPECT_EQ(size_of(left), 12u);
}

// With datagrams each call is one message, so calls can be counted.
Sizes messages(const Sizes& sizes) {
    const Pair pair(SOCK_DGRAM);
    never_wait(pair.far());
    auto buffers = Buffers::filled(sizes);
    Left left = buffers.views();
    EXPECT_EQ(web::send(pair.near(), left).bytes, size_of(Buffers(sizes).views()));
    Sizes found;
    for (std::string one = read_some(pair.far(), 10'000); !one.empty();) {
        found.push_back(one.size());
        one = read_some(pair.far(), 10'000);
    }
    return found;
}

TEST(GoalSend, ManyBuffersAreOneCall) {
    EXPECT_EQ(messages(Sizes(16, 64)), Sizes{1024});
    EXPECT_EQ(messages({0, 5, 0, 0, 7, 0}), Sizes{12});
}

TEST(GoalSend, MoreBuffersThanACallTakesAreAsFewCallsAsCanBe) {
    const std::size_t limit = max_per_call();
    EXPECT_EQ(messages(Sizes(limit, 1)), Sizes{limit});
    EXPECT_EQ(messages(Sizes(2 * limit + 5, 1)), (Sizes{limit, limit, 5}));
}

TEST(GoalReceive, OneCallFillsManyBuffers) {
    const Pair pair(SOCK_DGRAM);
    const Sizes sizes{0, 500, 0, 20, 1, 0, 503};
    auto sent = Buffers::filled(sizes);
    write_all(pair.far(), sent.joined(), 1024);
    Buffers buffers(sizes);
    Left left = buffers.views();
    EXPECT_EQ(web::receive(pair.near(), left).bytes, 1024u);
    EXPECT_EQ(buffers.joined(), sent.joined());
}

}  // namespace
