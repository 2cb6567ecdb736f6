// The headers are those of the tree that is validated, not the ones next to this file.
#include <arpa/inet.h>
#include <busy_wait.h>
#include <client.h>
#include <connecting.h>
#include <counters.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nonblocking.h>
#include <poll.h>
#include <sched.h>
#include <scratch.h>
#include <small_vector.h>
#include <sys/socket.h>
#include <task_queue.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

std::atomic<int> yields = 0;

}  // namespace

// Replaces the C library's function, which std::this_thread::yield() calls.
extern "C" int sched_yield() {
    ++yields;
    return 0;
}

namespace {

using namespace std::chrono_literals;

// Far longer than anything here takes, but short enough for a reader to wait.
constexpr auto patience = 10s;

template <class Ready>
bool comes(Ready ready) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!ready()) {
        if (std::chrono::steady_clock::now() > until) {
            return false;
        }
        std::this_thread::sleep_for(100us);
    }
    return true;
}

// Threads that take tasks. A thread that has taken one takes no more until `enough` are done in
// total.
class Takers {
public:
    Takers(int threads, int enough) : enough_(enough) {
        for (int i = 0; i < threads; ++i) {
            threads_.emplace_back([this] { run(); });
            ++running_;
        }
    }

    // However wrong the queue is, no thread sleeps for ever.
    ~Takers() {
        while (running_ > 0) {
            rescued_ = true;
            queue_.close();
            std::this_thread::sleep_for(1ms);
        }
    }

    bool sleep() {
        return comes([this] { return queue_.sleeping() == threads_.size(); });
    }
    bool finish() {
        return comes([this] { return done_ == enough_; });
    }
    bool leave() {
        return comes([this] { return running_ == 0; });
    }

    web::TaskQueue& queue() { return queue_; }

private:
    void run() {
        for (auto tasks = queue_.take(); !tasks.empty(); tasks = queue_.take()) {
            for (const int task : tasks) {
                done_ += task;
            }
            while (done_ < enough_ && !rescued_) {
                std::this_thread::sleep_for(100us);
            }
        }
        --running_;
    }

    web::TaskQueue queue_;
    const int enough_;
    std::atomic<int> done_ = 0, running_ = 0;
    std::atomic<bool> rescued_ = false;
    std::vector<std::jthread> threads_;
};

TEST(Queue, TasksComeInTheirOrder) {
    web::TaskQueue queue;
    queue.push(std::array{1, 2});
    queue.push(std::array{3});
    std::vector<int> taken;
    while (taken.size() < 3) {
        const auto some = queue.take();
        taken.insert(taken.end(), some.begin(), some.end());
    }
    EXPECT_EQ(taken, (std::vector{1, 2, 3}));
}

TEST(Queue, AClosedOneGivesWhatItHasAndThenNothing) {
    web::TaskQueue queue;
    queue.push(std::array{7});
    queue.close();
    EXPECT_EQ(queue.take(), std::vector{7});
    EXPECT_TRUE(queue.take().empty());
}

// As many tasks as threads. Each thread that has one waits until all are done, so if one thread
// leaves tasks in the queue, another must take them.
TEST(Queue, NoTaskIsLeftWhileAThreadSleeps) {
    for (const int threads : {1, 2, 4}) {
        for (const bool at_once : {true, false}) {
            Takers takers(threads, threads);
            ASSERT_TRUE(takers.sleep());
            const std::vector<int> tasks(static_cast<std::size_t>(threads), 1);
            if (at_once) {
                takers.queue().push(tasks);
            } else {
                for (const int& task : tasks) {
                    takers.queue().push({&task, 1});
                }
            }
            ASSERT_TRUE(takers.finish()) << "a task was left in the queue of " << threads;
        }
    }
}

TEST(Queue, EverybodyLeavesAClosedOne) {
    for (const int threads : {1, 2, 4}) {
        Takers takers(threads, 0);
        ASSERT_TRUE(takers.sleep());
        takers.queue().close();
        ASSERT_TRUE(takers.leave()) << "of " << threads << " that slept";
    }
}

// An element that knows its place, and counts its living objects.
struct Placed {
    explicit Placed(int mine) : number(mine) { ++alive; }
    Placed(Placed&& other) noexcept : number(std::exchange(other.number, -1)) { ++alive; }
    ~Placed() { --alive; }

    bool is(int wanted) const { return self == this && number == wanted; }

    static inline int alive = 0;
    int number;
    const Placed* self = this;
};

TEST(Vector, ElementsStayWhatTheyAreWhenTheySpill) {
    for (const int count : {0, 1, 3, 4, 5, 8, 9, 100}) {
        {
            web::SmallVector<Placed, 4> vector;
            for (int i = 0; i < count; ++i) {
                vector.push_back(Placed(i));
                ASSERT_EQ(vector.size(), static_cast<std::size_t>(i) + 1);
                for (int j = 0; j <= i; ++j) {
                    ASSERT_TRUE(vector[static_cast<std::size_t>(j)].is(j)) << j << " of " << i + 1;
                }
                EXPECT_EQ(Placed::alive, i + 1);
            }
            EXPECT_EQ(vector.end() - vector.begin(), count);
        }
        EXPECT_EQ(Placed::alive, 0);
    }
}

TEST(Vector, ElementsMayOwnWhatTheyHold) {
    web::SmallVector<std::unique_ptr<std::string>, 2> vector;
    for (int i = 0; i < 20; ++i) {
        vector.push_back(std::make_unique<std::string>(static_cast<std::size_t>(i), 'x'));
    }
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(vector[static_cast<std::size_t>(i)]->size(), static_cast<std::size_t>(i));
    }
}

TEST(Vector, AnElementMayBePutInAgain) {
    web::SmallVector<std::string, 2> vector;
    vector.push_back("longer than a string keeps within itself");
    for (int i = 0; i < 9; ++i) {
        vector.push_back(vector[0]);
    }
    for (const std::string& each : vector) {
        EXPECT_EQ(each, vector[0]);
    }
}

TEST(GoalVector, TheFirstFewAreInside) {
    web::SmallVector<int, 4> vector;
    const auto inside = [&vector] {
        const auto place = reinterpret_cast<std::uintptr_t>(vector.begin());
        const auto object = reinterpret_cast<std::uintptr_t>(&vector);
        return object <= place && place < object + sizeof(vector);
    };
    for (int i = 0; i < 4; ++i) {
        vector.push_back(i);
        EXPECT_TRUE(inside());
    }
    vector.push_back(4);
    EXPECT_FALSE(inside());
}

// The threads do nothing else, so that only the counter itself can order their work.
template <class Counter>
std::uint64_t counted_by(int writers) {
    constexpr int each = 10'000;
    Counter counter;
    std::vector<std::jthread> threads;
    for (int i = 0; i < writers; ++i) {
        threads.emplace_back([&counter] {
            for (int j = 0; j < each; ++j) {
                counter.add();
            }
        });
    }
    std::uint64_t seen = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t now = counter.value();
        EXPECT_LE(seen, now);
        seen = now;
    }
    threads.clear();
    return counter.value() / each;
}

TEST(Counter, NoCountOfSeveralThreadsIsLost) {
    EXPECT_EQ(counted_by<web::SharedCounter>(4), 4u);
}

TEST(Counter, NoCountOfOneThreadIsLost) {
    EXPECT_EQ(counted_by<web::OwnCounter>(1), 1u);
}

TEST(Scratch, BuffersAreAlignedAndApart) {
    for (const std::size_t offset : {0uz, 1uz, 7uz}) {
        alignas(64) std::array<std::byte, 1000> bytes;
        web::Scratch scratch(std::span(bytes).subspan(offset, 700));
        std::vector<std::pair<unsigned char*, std::size_t>> given;
        for (std::size_t size = 1; size < 60; ++size) {
            const std::size_t alignment = std::size_t{1} << (size % 7);
            auto* const place = static_cast<unsigned char*>(scratch.allocate(size, alignment));
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % alignment, 0u);
            std::memset(place, static_cast<int>(size), size);
            given.emplace_back(place, size);
        }
        for (const auto& [place, size] : given) {
            for (std::size_t i = 0; i < size; ++i) {
                ASSERT_EQ(place[i], size);
            }
        }
    }
}

TEST(Scratch, WhatStandsBehindTheBufferIsNotTouched) {
    std::array<unsigned char, 64> bytes{};
    {
        web::Scratch scratch(std::as_writable_bytes(std::span(bytes)).subspan(1, 32));
        for (int i = 0; i < 8; ++i) {
            std::memset(scratch.allocate(5, 8), 0xff, 5);
        }
    }
    for (std::size_t i = 33; i < bytes.size(); ++i) {
        EXPECT_EQ(bytes[i], 0) << i;
    }
}

TEST(Scratch, WhatIsLargerThanTheBufferIsGiven) {
    std::array<std::byte, 16> bytes;
    web::Scratch scratch(bytes);
    std::memset(scratch.allocate(100'000), 1, 100'000);
    std::memset(web::Scratch({}).allocate(10), 1, 10);
}

TEST(GoalScratch, TheBufferIsUsedToItsEnd) {
    alignas(64) std::array<std::byte, 64> bytes;
    web::Scratch scratch(bytes);
    EXPECT_EQ(scratch.allocate(1, 1), &bytes[0]);
    EXPECT_EQ(scratch.allocate(8, 8), &bytes[8]);
    EXPECT_EQ(scratch.allocate(40, 16), &bytes[16]);
    scratch.allocate(100, 1);  // which does not fit there, and uses no space
    EXPECT_EQ(scratch.allocate(8, 1), &bytes[56]);
}

sockaddr_in loopback() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

sockaddr_in own_address(const web::Fd& socket) {
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    EXPECT_EQ(::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    return address;
}

int connect_to(const sockaddr_in& peer, const web::Fd& client) {
    return ::connect(client.number(), reinterpret_cast<const sockaddr*>(&peer), sizeof(peer));
}

web::Fd plain_socket() {
    return web::Fd(::socket(AF_INET, SOCK_STREAM, 0));
}

web::Fd listener(int backlog = 16) {
    web::Fd socket = plain_socket();
    const sockaddr_in address = loopback();
    EXPECT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    EXPECT_EQ(::listen(socket.number(), backlog), 0);
    return socket;
}

TEST(Client, ItsAddressIsWhereItConnectedFrom) {
    const web::Fd listening = listener();
    for (int i = 0; i < 3; ++i) {
        const web::Fd socket = plain_socket();
        ASSERT_EQ(connect_to(own_address(listening), socket), 0);
        const web::Client client = web::accept_client(listening);
        const auto& from = reinterpret_cast<const sockaddr_in&>(client.address);
        EXPECT_EQ(from.sin_family, AF_INET);
        EXPECT_EQ(ntohl(from.sin_addr.s_addr), INADDR_LOOPBACK);
        EXPECT_EQ(ntohs(from.sin_port), ntohs(own_address(socket).sin_port));
    }
}

#ifdef __linux__  // other systems' accept() may refuse such a client
TEST(GoalClient, OneThatHasLeftHasItsAddressStill) {
    const web::Fd listening = listener();
    in_port_t port = 0;
    {
        const web::Fd socket = plain_socket();
        const linger none{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &none, sizeof(none));
        ASSERT_EQ(connect_to(own_address(listening), socket), 0);
        port = own_address(socket).sin_port;
    }
    const web::Client client = web::accept_client(listening);
    EXPECT_EQ(reinterpret_cast<const sockaddr_in&>(client.address).sin_port, port);
}
#endif

void expect_flags(const web::Fd& socket) {
    EXPECT_TRUE(::fcntl(socket.number(), F_GETFL) & O_NONBLOCK) << "it may wait";
    EXPECT_TRUE(::fcntl(socket.number(), F_GETFD) & FD_CLOEXEC) << "other programs inherit it";
}

TEST(Nonblocking, ASocketIsThatAndClosesOnExec) {
    expect_flags(web::nonblocking_socket(AF_INET));
}

TEST(Nonblocking, AClientsSocketIsThatToo) {
    const web::Fd listening = listener();
    const web::Fd client = plain_socket();
    ASSERT_EQ(connect_to(own_address(listening), client), 0);
    expect_flags(web::accept_nonblocking(listening));
}

// The result, once the poller reports that the socket can be written to.
std::error_code outcome(const sockaddr_in& peer) {
    const auto client = web::begin_connecting(peer);
    if (!client) {
        return client.error();
    }
    pollfd watched{.fd = client->number(), .events = POLLOUT, .revents = 0};
    EXPECT_EQ(::poll(&watched, 1, 10'000), 1);
    return web::connected(*client);
}

TEST(Connecting, APeerIsReached) {
    const web::Fd listening = listener();
    EXPECT_FALSE(outcome(own_address(listening)));
}

TEST(Connecting, OneThatRefusesIsAnError) {
    web::Fd socket = plain_socket();  // it has a port but doesn't listen on it
    const sockaddr_in address = loopback();
    ASSERT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    EXPECT_EQ(outcome(own_address(socket)), std::errc::connection_refused);
}

TEST(Connecting, OneThatCannotBeReachedIsAnError) {
    sockaddr_in many = loopback();
    many.sin_addr.s_addr = htonl(0xe0000001);  // 224.0.0.1, a multicast group: TCP can't reach it
    many.sin_port = htons(9);
    EXPECT_TRUE(outcome(many));
}

// The listener's queue is full, so the connection is not answered. A thread that waits for it is
// released after a while.
TEST(GoalConnecting, TheThreadIsFreeMeanwhile) {
    web::Fd listening = listener(0);
    const sockaddr_in busy = own_address(listening);
    std::vector<web::Fd> queue;
    for (int i = 0; i < 8; ++i) {
        queue.push_back(plain_socket());
        ::fcntl(queue.back().number(), F_SETFL, O_NONBLOCK);
        connect_to(busy, queue.back());
    }
    std::promise<void> begun;
    std::atomic<bool> waited = false;
    const std::jthread closer([&, seen = begun.get_future()] {
        if (seen.wait_for(3s) == std::future_status::timeout) {
            waited = true;
            listening = {};
        }
    });
    const auto client = web::begin_connecting(busy);
    begun.set_value();
    EXPECT_FALSE(waited);
    if (!waited) {
        ASSERT_TRUE(client);
        pollfd watched{.fd = client->number(), .events = POLLOUT, .revents = 0};
        EXPECT_EQ(::poll(&watched, 1, 0), 0);
        expect_flags(*client);
    }
}

int yields_until(int ready) {
    yields = 0;
    int asked = 0;
    web::busy_wait([&] { return ++asked > ready; });
    EXPECT_EQ(asked, ready + 1);
    return yields;
}

TEST(Waiting, ItEndsAsSoonAsItMay) {
    for (const int ready : {0, 1, web::pauses, 10 * web::pauses}) {
        yields_until(ready);
    }
}

TEST(GoalWait, AShortOneKeepsTheProcessor) {
    for (const int ready : {0, 1, web::pauses - 1}) {
        EXPECT_EQ(yields_until(ready), 0) << ready;
    }
}

TEST(GoalWait, ALongOneGivesItAway) {
    EXPECT_GE(yields_until(web::pauses + 100), 99);
}

}  // namespace
