#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <task.h>  // from the tree that is validated, not the one next to this file
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr auto patience = 5s;
constexpr char last = '.';  // a client that has sent this has ended

// Wraps Loop or any of the pools.
class AnyServer {
public:
    virtual ~AnyServer() = default;
    virtual void add(std::unique_ptr<web::Client> client) = 0;
};

template <class Server>
class Of : public AnyServer {
public:
    explicit Of(unsigned threads) : server_(threads) {}
    void add(std::unique_ptr<web::Client> client) override { server_.add(std::move(client)); }

private:
    Server server_;
};

template <class Server>
std::unique_ptr<AnyServer> make(unsigned threads) {
    return std::make_unique<Of<Server>>(threads);
}

struct Kind {
    const char* name;
    std::unique_ptr<AnyServer> (*make)(unsigned threads);
};

void PrintTo(const Kind& kind, std::ostream* out) {
    *out << kind.name;
}

constexpr Kind loop{"Loop", make<web::Loop>};
constexpr Kind one_shot{"OneShot", make<web::Pool<web::OneShot>>};
constexpr Kind counting{"Counting", make<web::Pool<web::Counting>>};
constexpr Kind forgetful{"Forgetful", make<web::Pool<web::Forgetful>>};

// Set once, by any thread.
class Signal {
public:
    void set() {
        const std::lock_guard lock(mutex_);
        set_ = true;
        changed_.notify_all();
    }

    // Returns false if it was not set within the limit.
    bool wait(std::chrono::milliseconds limit = patience) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, limit, [this] { return set_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool set_ = false;
};

// What happens to a client. Outlives the client. Its atomics add no order between threads that the
// server lacks.
struct Story {
    // Runs `act` once, the next time the client is served, when everything has been answered.
    void meanwhile(std::function<void()> act) {
        act_ = std::move(act);
        is_signalled_.store(true, std::memory_order_release);
    }

    void act() {
        if (!is_signalled_.load(std::memory_order_acquire)) return;
        is_signalled_.store(false, std::memory_order_relaxed);
        std::exchange(act_, nullptr)();
    }

    std::atomic<int> served = 0;  // how often it received something
    std::atomic<int> inside = 0;  // number of threads that serve it now
    std::atomic<bool> by_two = false;

private:
    std::atomic<bool> is_signalled_ = false;
    std::function<void()> act_;
};

// Sends back what it receives.
class Echo : public web::Client {
public:
    Echo(int fd, Story& story) : fd_(fd), story_(story) { ++alive; }

    ~Echo() override {
        ::close(fd_);
        --alive;
    }

    int fd() const override { return fd_; }

    bool serve() noexcept override {
        if (story_.inside.fetch_add(1, std::memory_order_relaxed) > 0) {
            story_.by_two.store(true, std::memory_order_relaxed);
        }
        const bool stays = answer();
        story_.inside.fetch_sub(1, std::memory_order_relaxed);
        return stays;
    }

    static inline std::atomic<int> alive = 0;

private:
    bool answer() {
        bool stays = true, heard = false;
        std::array<char, 64> bytes;
        ssize_t count;
        while ((count = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
            const auto size = static_cast<std::size_t>(count);
            // Not atomic, because only one thread at a time serves a client. Before the send,
            // because the thread sanitizer assumes that a socket orders threads, and doesn't know
            // of a kernel that reports a client once.
            total_ += size;
            EXPECT_EQ(::send(fd_, bytes.data(), size, MSG_NOSIGNAL | MSG_DONTWAIT), count);
            stays = stays && bytes[size - 1] != last;
            heard = true;
        }
        if (heard) {
            story_.served.fetch_add(1, std::memory_order_relaxed);
            story_.act();
        }
        return stays && count < 0;
    }

    const int fd_;
    Story& story_;
    std::size_t total_ = 0;
};

// Two connected sockets.
std::array<int, 2> pair() {
    std::array<int, 2> ends;
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) {
        throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    return ends;
}

// The other end of a client.
class Peer {
public:
    Peer() {
        const auto [near, far] = pair();
        near_ = near;
        far_ = far;
        const timeval limit{std::chrono::seconds(patience).count(), 0};
        ::setsockopt(far_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }

    ~Peer() { close(); }

    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    std::unique_ptr<web::Client> client() { return std::make_unique<Echo>(near_, story); }

    void close() {
        if (far_ >= 0) ::close(std::exchange(far_, -1));
    }

    void say(const std::string& words) const {
        ASSERT_EQ(::send(far_, words.data(), words.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(words.size()));
    }

    // Returns `count` bytes; fewer if no more arrive for a long time, or at the end of the stream.
    std::string hear(std::size_t count) const {
        std::string heard;
        while (heard.size() < count) {
            std::array<char, 64> bytes;
            const ssize_t more =
                ::recv(far_, bytes.data(), std::min(bytes.size(), count - heard.size()), 0);
            if (more <= 0) break;
            heard.append(bytes.data(), static_cast<std::size_t>(more));
        }
        return heard;
    }

    void ask(const std::string& words) const {
        say(words);
        ASSERT_EQ(hear(words.size()), words) << "has no answer";
    }

    bool is_ended() const {
        char byte;
        return ::recv(far_, &byte, 1, 0) == 0;
    }

    Story story;

private:
    int near_ = -1;  // the client's end
    int far_ = -1;
};

using Peers = std::vector<std::unique_ptr<Peer>>;

bool comes_true(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

// A server that has to end in time; otherwise the whole process ends, because a thread that hangs
// can't be ended.
class Running {
public:
    Running(const Kind& kind, unsigned threads) : server_(kind.make(threads)) {}

    ~Running() {
        if (server_) stop().wait();
    }

    void add(Peer& peer) { server_->add(peer.client()); }

    AnyServer& operator*() { return *server_; }

    // Destroys the server in another thread.
    std::future<void> stop() {
        auto ended = std::async(std::launch::async, [server = std::move(server_)]() mutable {
            const auto over = std::make_shared<Signal>();
            std::thread([over] {
                if (over->wait(2 * patience)) return;
                std::puts("the server does not stop");
                std::fflush(stdout);
                std::_Exit(1);
            }).detach();
            server.reset();
            over->set();
        });
        return ended;
    }

private:
    std::unique_ptr<AnyServer> server_;
};

class Serves : public testing::TestWithParam<Kind> {
protected:
    ~Serves() override {
        EXPECT_EQ(Echo::alive, 0) << "clients were not ended";
        for (const auto& peer : peers_) {
            EXPECT_FALSE(peer->story.by_two) << "a client was served by two threads at once";
        }
    }

    // Adds a client to this server.
    Peer& peer(Running& server) {
        Peer& added = *peers_.emplace_back(std::make_unique<Peer>());
        server.add(added);
        return added;
    }

    Peers peers_;
};

// Tests that the starter fails.
class GoalBlocks : public Serves {};
class GoalGuard : public Serves {};
class GoalForgets : public Serves {};

const auto name = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(, Serves, testing::Values(loop, one_shot, counting), name);
INSTANTIATE_TEST_SUITE_P(, GoalBlocks, testing::Values(one_shot, counting), name);
INSTANTIATE_TEST_SUITE_P(, GoalGuard, testing::Values(one_shot, counting), name);
INSTANTIATE_TEST_SUITE_P(, GoalForgets, testing::Values(forgetful), name);

TEST_P(Serves, WhoAsksIsAnswered) {
    Running server(GetParam(), 2);
    for (int i = 0; i < 3; ++i) {
        peer(server);
    }
    for (const char* words : {"a", "bc", "def"}) {
        for (const auto& each : peers_) {
            each->ask(words);
        }
    }
}

TEST_P(Serves, WhatWasSaidBeforeIsAnswered) {
    Peer early;
    Running server(GetParam(), 2);
    early.say("early");
    server.add(early);
    EXPECT_EQ(early.hear(5), "early");
    early.ask("later");
}

// Each client sends again as soon as it has its answer, while the thread that answered is about to
// leave.
TEST_P(Serves, NobodyOfManyIsLost) {
    Running server(GetParam(), 4);
    for (int i = 0; i < 50; ++i) {
        peer(server);
    }
    for (int round = 0; round < 40; ++round) {
        for (const auto& each : peers_) {
            each->say("q");
        }
        for (const auto& each : peers_) {
            ASSERT_EQ(each->hear(1), "q") << "has no answer in round " << round;
        }
    }
}

TEST_P(Serves, AClientsAnswersKeepTheirOrder) {
    Running server(GetParam(), 4);
    const Peer& one = peer(server);
    char next = 'a';
    for (int round = 0; round < 60; ++round) {
        std::string said;
        for (int i = 0; i < 30; ++i) {
            said += next;
            next = next == 'z' ? 'a' : static_cast<char>(next + 1);
            one.say(said.substr(said.size() - 1));
        }
        ASSERT_EQ(one.hear(said.size()), said);
    }
}

TEST_P(Serves, WhoCameFirstIsServedFirst) {
    std::mutex mutex;
    std::string order;
    Signal begun, released;
    Running server(GetParam(), 1);
    Peer& first = peer(server);
    first.story.meanwhile([&] {
        begun.set();
        released.wait();
    });
    for (const char mark : {'b', 'c', 'd', 'e'}) {
        peer(server).story.meanwhile([&order, &mutex, mark] {
            const std::lock_guard lock(mutex);
            order += mark;
        });
    }
    first.ask("a");
    EXPECT_TRUE(begun.wait());
    for (std::size_t i = 1; i < peers_.size(); ++i) {
        peers_[i]->say("x");
    }
    released.set();
    EXPECT_TRUE(comes_true([&] {
        const std::lock_guard lock(mutex);
        return order.size() == 4;
    }));
    EXPECT_EQ(order, "bcde");
}

TEST_P(Serves, WhoHasEndedIsEnded) {
    Running server(GetParam(), 2);
    Peer &leaves = peer(server), &is_sent = peer(server), &stays = peer(server);
    for (const auto& each : peers_) {
        each->ask("a");
    }
    leaves.close();
    is_sent.ask({last});
    EXPECT_TRUE(is_sent.is_ended());
    EXPECT_TRUE(comes_true([] { return Echo::alive == 1; })) << "who has left is still there";
    stays.ask("b");
}

// The waiting thread may hold the client's last event while another thread destroys the client.
TEST_P(Serves, WhoSpeaksWhileItEndsIsEnded) {
    Running server(GetParam(), 2);
    for (int turn = 0; turn < 20; ++turn) {
        Peer& one = peer(server);
        one.story.meanwhile([&one] {
            one.say("more");
            std::this_thread::sleep_for(2ms);
        });
        one.say({last});
    }
    EXPECT_TRUE(comes_true([] { return Echo::alive == 0; }));
}

TEST_P(Serves, WhoCannotBeWatchedIsEnded) {
    Story story;
    Running server(GetParam(), 2);
    EXPECT_THROW((*server).add(std::make_unique<Echo>(-1, story)), std::system_error);
    EXPECT_EQ(Echo::alive, 0);
    peer(server).ask("a");
}

TEST_P(Serves, ClientsOfSeveralThreads) {
    Running server(GetParam(), 4);
    std::vector<std::thread> threads;
    std::array<Peers, 4> added;
    for (Peers& mine : added) {
        threads.emplace_back([&server, &mine] {
            for (int i = 0; i < 20; ++i) {
                server.add(*mine.emplace_back(std::make_unique<Peer>()));
                mine.back()->ask("a");
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(Echo::alive, 80);
    for (Peers& mine : added) {
        std::ranges::move(mine, std::back_inserter(peers_));
    }
}

// Clients that are being served are waited for, the others are never served, and all are destroyed.
TEST_P(Serves, AnEndWithTasksLeft) {
    Signal begun, released;
    Running server(GetParam(), 1);
    Peer& first = peer(server);
    for (int i = 0; i < 3; ++i) {
        peer(server);
    }
    first.story.meanwhile([&] {
        begun.set();
        released.wait();
    });
    first.say("a");
    EXPECT_TRUE(begun.wait());
    for (const auto& each : peers_) {
        each->say("b");
    }
    std::this_thread::sleep_for(10ms);
    const auto ended = server.stop();
    EXPECT_EQ(ended.wait_for(30ms), std::future_status::timeout) << "it did not wait";
    EXPECT_EQ(Echo::alive, 4);
    released.set();
    ended.wait();
    EXPECT_EQ(Echo::alive, 0);
    for (std::size_t i = 1; i < peers_.size(); ++i) {
        EXPECT_EQ(peers_[i]->story.served, 0) << "was served after the end";
    }
}

int lowest_free() {
    const int number = ::fcntl(STDIN_FILENO, F_DUPFD, 0);
    ::close(number);
    return number;
}

TEST_P(Serves, NoDescriptorIsLeft) {
    const int before = lowest_free();
    for (int turn = 0; turn < 3; ++turn) {
        Peers peers;
        Running server(GetParam(), 3);
        for (int i = 0; i < 5; ++i) {
            server.add(*peers.emplace_back(std::make_unique<Peer>()));
            peers.back()->ask("a");
        }
    }
    EXPECT_EQ(lowest_free(), before);
}

// How often this process gave up the processor to wait for something.
long sleeps() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_nvcsw;
}

// Not a measurement of time: on a busy machine a thread that polls in a loop, too, gets little of
// the processor.
TEST_P(Serves, NothingIsDoneWhileNobodySpeaks) {
    Running server(GetParam(), 4);
    Peer& one = peer(server);
    peer(server).say("no answer is received");
    one.ask("a");
    std::this_thread::sleep_for(20ms);
    const long before = sleeps();
    const std::clock_t begin = std::clock();
    std::this_thread::sleep_for(200ms);
    EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC / 10) << "it kept the processor";
    EXPECT_LE(sleeps() - before, 20) << "threads woke up";
}

TEST_P(GoalBlocks, AnotherThreadServesTheOthers) {
    Signal begun, released;
    Running server(GetParam(), 2);
    Peer &blocks = peer(server), &other = peer(server);
    blocks.story.meanwhile([&] {
        begun.set();
        released.wait(2 * patience);
    });
    blocks.say("a");
    EXPECT_TRUE(begun.wait());
    for (int i = 0; i < 20 && !HasFatalFailure(); ++i) {
        other.ask("b");
    }
    released.set();
}

// Each client waits for all of them, so each needs its own thread, and these threads have to be
// woken.
TEST_P(GoalBlocks, AsManyAsThereAreThreads) {
    constexpr int threads = 4;
    std::atomic<int> begun = 0;
    Running server(GetParam(), threads);
    for (int i = 0; i < threads; ++i) {
        peer(server);
    }
    for (int all = threads; all <= 5 * threads; all += threads) {
        const auto all_have_begun = [&begun, all] { return begun >= all; };
        for (const auto& each : peers_) {
            each->story.meanwhile([&begun, all_have_begun] {
                ++begun;
                comes_true(all_have_begun);
            });
        }
        for (const auto& each : peers_) {
            each->say("a");
        }
        ASSERT_TRUE(comes_true(all_have_begun))
            << "only " << begun - (all - threads) << " were served at once";
        for (const auto& each : peers_) {
            EXPECT_EQ(each->hear(1), "a");
        }
        std::this_thread::sleep_for(5ms);  // until all threads sleep again
    }
}

// When `one` has received everything, it is sent more. Then, to be sure that this was noticed, so
// is `other`, which the second thread has to answer first.
void speaks_again(Peer& one, Peer& other) {
    one.story.meanwhile([&] {
        one.say("b");
        other.ask("x");
    });
    one.say("a");
    EXPECT_EQ(one.hear(1), "a");
}

TEST_P(GoalGuard, WhatComesWhileAClientIsServedIsServed) {
    Running server(GetParam(), 2);
    Peer &one = peer(server), &other = peer(server);
    for (int turn = 0; turn < 3; ++turn) {
        speaks_again(one, other);
        EXPECT_EQ(one.hear(1), "b") << "is lost";
    }
}

// The same with the published guard.
TEST_P(GoalForgets, WhatComesWhileAClientIsServed) {
    Running server(GetParam(), 2);
    Peer &one = peer(server), &other = peer(server);
    speaks_again(one, other);
    EXPECT_TRUE(comes_true([&one] { return one.story.inside == 0; }));
    for (int turn = 0; turn < 10; ++turn) {
        other.ask("y");
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(one.story.served, 1) << "the guard is another one";
    one.say("c");
    EXPECT_EQ(one.hear(2), "bc");
}

}  // namespace
