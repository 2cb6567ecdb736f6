#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <task.h>  // from the tree that is validated, not the one next to this file
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <memory>
#include <ostream>
#include <set>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

using ReportedSockets = std::vector<int>;

constexpr rlim_t many_descriptors = 4096;

// Owns a descriptor and closes it once.
class Fd {
public:
    explicit Fd(int number = -1) : number_(number) {}
    Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Fd() { close(); }

    void close() {
        if (number_ >= 0) {
            ::close(std::exchange(number_, -1));
        }
    }

    int number() const { return number_; }

private:
    int number_;
};

// `near` is watched; what is sent to `far` can be received there.
struct Pair {
    Pair() {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
            throw std::system_error(errno, std::generic_category(), "socketpair");
        }
        near = Fd(ends[0]);
        far = Fd(ends[1]);
    }

    void say(std::size_t bytes) const {
        const std::vector<char> said(bytes, 'x');
        EXPECT_EQ(::send(far.number(), said.data(), bytes, 0), static_cast<ssize_t>(bytes));
    }

    // Receives at most `limit` bytes and returns their number: 0 at the end of the stream, -1 if
    // there are none.
    ssize_t hear(std::size_t limit) const {
        std::vector<char> heard(limit);
        return ::recv(near.number(), heard.data(), limit, MSG_DONTWAIT);
    }

    int fd() const { return near.number(); }

    Fd near, far;
};

// Wraps any class of task.h, so that a test is compiled only once.
class AnyPoller {
public:
    virtual ~AnyPoller() = default;
    virtual void add(int fd) = 0;
    virtual void remove(int fd) = 0;
    virtual std::span<const int> wait(std::chrono::milliseconds timeout) = 0;
};

template <class Poller>
class Of : public AnyPoller {
public:
    void add(int fd) override { poller_.add(fd); }
    void remove(int fd) override { poller_.remove(fd); }
    std::span<const int> wait(std::chrono::milliseconds timeout) override {
        return poller_.wait(timeout);
    }

private:
    Poller poller_;
};

template <class Poller>
std::unique_ptr<AnyPoller> make() {
    return std::make_unique<Of<Poller>>();
}

struct Kind {
    const char* name;
    std::unique_ptr<AnyPoller> (*make)();
};

void PrintTo(const Kind& kind, std::ostream* out) {
    *out << kind.name;
}

constexpr Kind by_asking{"BusyPolling", make<web::BusyPolling>};
constexpr Kind by_select{"Select", make<web::Select>};
constexpr Kind by_poll{"Poll", make<web::Poll>};
constexpr Kind by_poller{"Poller", make<web::Poller>};

// Sorted by number, so that one that is reported twice is noticed.
ReportedSockets reported(AnyPoller& poller, std::chrono::milliseconds timeout = 0ms) {
    const auto ready = poller.wait(timeout);
    ReportedSockets found(ready.begin(), ready.end());
    std::ranges::sort(found);
    return found;
}

ReportedSockets only(const Pair& pair) {
    return {pair.fd()};
}

const ReportedSockets none;

class Waits : public testing::TestWithParam<Kind> {
protected:
    Waits() {
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = std::min(limit.rlim_max, many_descriptors);
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }

    const std::unique_ptr<AnyPoller> poller_ = GetParam().make();
};

// Must work with any descriptor number.
class HighNumbers : public Waits {};

// Tests of the limit of select(2).
class Limit : public Waits {};

// Tests that the starter fails.
class GoalSleeps : public Waits {};
class GoalRemembers : public Waits {};

const auto name = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(, Waits, testing::Values(by_asking, by_select, by_poll, by_poller), name);
INSTANTIATE_TEST_SUITE_P(, HighNumbers, testing::Values(by_asking, by_poll, by_poller), name);
INSTANTIATE_TEST_SUITE_P(, Limit, testing::Values(by_select), name);
INSTANTIATE_TEST_SUITE_P(, GoalSleeps, testing::Values(by_poll, by_poller), name);
INSTANTIATE_TEST_SUITE_P(, GoalRemembers, testing::Values(by_poller), name);

TEST_P(Waits, OnlySocketsWithInputAreReported) {
    const std::array<Pair, 5> pairs;
    for (const Pair& pair : pairs) {
        poller_->add(pair.fd());
    }
    EXPECT_EQ(reported(*poller_), none);
    pairs[1].say(1);
    EXPECT_EQ(reported(*poller_), only(pairs[1]));
    pairs[3].say(1);
    EXPECT_EQ(reported(*poller_), (ReportedSockets{pairs[1].fd(), pairs[3].fd()}));
    EXPECT_EQ(pairs[1].hear(9), 1);
    EXPECT_EQ(reported(*poller_), only(pairs[3]));
    EXPECT_EQ(pairs[3].hear(9), 1);
    EXPECT_EQ(reported(*poller_), none);
}

TEST_P(Waits, DataSentBeforeAddIsReported) {
    const Pair pair;
    pair.say(1);
    poller_->add(pair.fd());
    EXPECT_EQ(reported(*poller_), only(pair));
}

// Level-triggered: the state is reported, not the change.
TEST_P(Waits, UnreadDataIsReportedAgain) {
    const Pair pair;
    poller_->add(pair.fd());
    pair.say(10);
    for (int left = 10; left > 0; --left) {
        EXPECT_EQ(reported(*poller_), only(pair)) << left << " bytes are left";
        EXPECT_EQ(reported(*poller_), only(pair)) << left << " bytes are left";
        EXPECT_EQ(pair.hear(1), 1);
    }
    EXPECT_EQ(reported(*poller_), none);
}

TEST_P(Waits, TwoSendsAreReportedOnce) {
    const Pair pair;
    poller_->add(pair.fd());
    for (int turn = 0; turn < 10; ++turn) {
        pair.say(1);
        pair.say(1);
        EXPECT_EQ(reported(*poller_), only(pair));
    }
    EXPECT_EQ(pair.hear(100), 20);
    EXPECT_EQ(reported(*poller_), none);
}

TEST_P(Waits, RemovedSocketIsNotReported) {
    const std::array<Pair, 5> pairs;
    for (const Pair& pair : pairs) {
        poller_->add(pair.fd());
        pair.say(1);
    }
    for (const std::size_t index : {2uz, 0uz, 4uz}) {
        poller_->remove(pairs[index].fd());
        const ReportedSockets found = reported(*poller_);
        EXPECT_EQ(std::ranges::count(found, pairs[index].fd()), 0);
    }
    EXPECT_EQ(reported(*poller_), (ReportedSockets{pairs[1].fd(), pairs[3].fd()}));
    poller_->remove(pairs[1].fd());
    poller_->remove(pairs[3].fd());
    EXPECT_EQ(reported(*poller_), none);
    poller_->add(pairs[2].fd());
    EXPECT_EQ(reported(*poller_), only(pairs[2]));
}

TEST_P(Waits, ANumberMayBeUsedAgain) {
    Pair pair;
    for (int turn = 0; turn < 3; ++turn) {
        const int number = pair.fd();
        poller_->add(number);
        pair.say(1);
        EXPECT_EQ(reported(*poller_), only(pair));
        poller_->remove(number);
        pair = Pair();
        if (pair.fd() != number) {
            pair.near = Fd(::fcntl(pair.fd(), F_DUPFD, number));
        }
    }
}

// recv(2) then returns 0: "when a stream socket peer has performed an orderly shutdown".
TEST_P(Waits, EndOfStreamIsReported) {
    std::array<Pair, 3> pairs;
    for (const Pair& pair : pairs) {
        poller_->add(pair.fd());
    }
    ::shutdown(pairs[0].far.number(), SHUT_WR);
    EXPECT_EQ(reported(*poller_), only(pairs[0]));
    pairs[2].far.close();
    for (int turn = 0; turn < 3; ++turn) {
        EXPECT_EQ(reported(*poller_), (ReportedSockets{pairs[0].fd(), pairs[2].fd()}));
    }
    EXPECT_EQ(pairs[0].hear(1), 0);
    EXPECT_EQ(pairs[2].hear(1), 0);
}

TEST_P(Waits, WhatWasSaidBeforeTheEndIsNotLost) {
    Pair pair;
    poller_->add(pair.fd());
    pair.say(2);
    pair.far.close();
    for (const ssize_t expected : {1, 1, 0}) {
        EXPECT_EQ(reported(*poller_), only(pair));
        EXPECT_EQ(pair.hear(1), expected);
    }
}

// udp(7): "errors received from the network" are passed on; here, that no socket has the port.
// There is nothing to read then.
TEST_P(Waits, ErrorIsReported) {
    Fd closed(::socket(AF_INET, SOCK_DGRAM, 0));
    const Fd sender(::socket(AF_INET, SOCK_DGRAM, 0));
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(closed.number(), generic, size), 0);
    ASSERT_EQ(::getsockname(closed.number(), generic, &size), 0);
    ASSERT_EQ(::connect(sender.number(), generic, size), 0);
    closed.close();
    poller_->add(sender.number());
    ASSERT_EQ(::send(sender.number(), "x", 1, 0), 1);
    EXPECT_EQ(reported(*poller_, 5000ms), ReportedSockets{sender.number()});
}

// Each is reported once until its data is read, in as many waits as necessary.
TEST_P(Waits, EachOfManyIsReported) {
    constexpr std::size_t count = 480;
    const std::vector<Pair> pairs(count);
    ReportedSockets expected, found;
    for (const Pair& pair : pairs) {
        poller_->add(pair.fd());
        pair.say(1);
        expected.push_back(pair.fd());
    }
    for (std::size_t turn = 0; turn < count && found.size() < count; ++turn) {
        for (const int fd : reported(*poller_)) {
            char byte;
            EXPECT_EQ(::recv(fd, &byte, 1, MSG_DONTWAIT), 1) << fd << " is reported a second time";
            found.push_back(fd);
        }
    }
    std::ranges::sort(found);
    std::ranges::sort(expected);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(reported(*poller_), none);
}

// The same if their data is never read.
TEST_P(Waits, EverySocketIsReportedAmongMany) {
    constexpr std::size_t count = 480;
    const std::vector<Pair> pairs(count);
    std::set<int> found;
    for (const Pair& pair : pairs) {
        poller_->add(pair.fd());
        pair.say(1);
    }
    for (int turn = 0; turn < 8; ++turn) {
        const ReportedSockets some = reported(*poller_);
        EXPECT_EQ(std::ranges::adjacent_find(some), some.end()) << "one is reported twice";
        found.insert(some.begin(), some.end());
    }
    EXPECT_EQ(found.size(), count);
}

TEST_P(Waits, NothingIsReportedAfterTheTimeout) {
    const Pair pair;
    poller_->add(pair.fd());
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(reported(*poller_, 30ms), none);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 29ms);
}

TEST_P(Waits, DataSentDuringTheWaitIsReported) {
    const Pair pair;
    poller_->add(pair.fd());
    const std::jthread speaker([&pair] {
        std::this_thread::sleep_for(30ms);
        pair.say(1);
    });
    EXPECT_EQ(reported(*poller_, 60s), only(pair));
}

// signal(7): these calls fail with EINTR even with SA_RESTART.
TEST_P(Waits, ASignalIsNoFailure) {
    const Pair pair;
    poller_->add(pair.fd());
    struct sigaction counts{}, before{};
    counts.sa_handler = [](int) {};
    ASSERT_EQ(::sigaction(SIGALRM, &counts, &before), 0);
    const itimerval often{{0, 20'000}, {0, 20'000}}, never{};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    EXPECT_NO_THROW(EXPECT_EQ(reported(*poller_, 100ms), none));
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
    pair.say(1);
    EXPECT_EQ(reported(*poller_), only(pair));
}

// A duplicate of the socket with that number or a higher one, if the descriptor limit allows it.
Fd numbered(const Pair& pair, int number) {
    return Fd(::fcntl(pair.fd(), F_DUPFD, number));
}

constexpr int first_too_high = FD_SETSIZE;

TEST_P(HighNumbers, AreReportedLikeOthers) {
    const Pair pair;
    for (const int number : {first_too_high - 1, first_too_high, first_too_high + 1, 3000}) {
        const Fd high = numbered(pair, number);
        ASSERT_EQ(high.number(), number) << "raise the limit: ulimit -n " << many_descriptors;
        poller_->add(high.number());
        EXPECT_EQ(reported(*poller_), none);
        pair.say(1);
        EXPECT_EQ(reported(*poller_), ReportedSockets{number});
        EXPECT_EQ(pair.hear(1), 1);
        poller_->remove(high.number());
    }
}

TEST_P(Limit, RefusesWhatHasNoPlaceInASet) {
    const Pair pair;
    pair.say(1);
    for (const int number : {first_too_high, first_too_high + 1, first_too_high + 64, 3000}) {
        const Fd high = numbered(pair, number);
        ASSERT_EQ(high.number(), number) << "raise the limit: ulimit -n " << many_descriptors;
        try {
            poller_->add(number);
            ADD_FAILURE() << number << " is not refused";
        } catch (const std::system_error& refused) {
            EXPECT_EQ(refused.code(), std::errc::invalid_argument);
        }
        EXPECT_EQ(reported(*poller_), none);
    }
    EXPECT_THROW(poller_->add(-1), std::system_error);
    const Fd last = numbered(pair, first_too_high - 1);
    poller_->add(last.number());
    EXPECT_EQ(reported(*poller_), ReportedSockets{first_too_high - 1});
    poller_->remove(last.number());
    EXPECT_EQ(reported(*poller_), none);
}

// How often this process gave up the processor to wait for something.
long sleeps() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_nvcsw;
}

// Code that polls in a loop sleeps never or often. Time is no measure, because on a busy machine
// such a loop, too, gets little of the processor.
TEST_P(GoalSleeps, OnceAWait) {
    const Pair pair;
    poller_->add(pair.fd());
    const long before = sleeps();
    const std::clock_t begin = std::clock();
    EXPECT_EQ(reported(*poller_, 200ms), none);
    EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC / 10);
#ifdef __linux__  // other systems need not count it before the process ends
    EXPECT_GE(sleeps() - before, 1) << "it kept the processor all the time";
#endif
    EXPECT_LE(sleeps() - before, 5);
}

TEST_P(GoalRemembers, AClosedSocketLeavesByItself) {
    std::array<Pair, 3> pairs;
    for (const Pair& pair : pairs) {
        poller_->add(pair.fd());
        pair.say(1);
    }
    pairs[1].near.close();
    EXPECT_EQ(reported(*poller_), (ReportedSockets{pairs[0].fd(), pairs[2].fd()}));
}

TEST_P(GoalRemembers, ANumberIsForgottenWithItsSocket) {
    Pair pair;
    const int number = pair.fd();
    poller_->add(number);
    pair.near.close();
    const Pair other;
    other.say(1);
    const Fd again(other.fd() == number ? -1 : ::fcntl(other.fd(), F_DUPFD, number));
    EXPECT_EQ(reported(*poller_), none);
    poller_->add(number);
    EXPECT_EQ(reported(*poller_), ReportedSockets{number});
}

TEST_P(GoalRemembers, WhatIsNotOpenIsRefused) {
    for (const int number : {-1, 3000}) {
        try {
            poller_->add(number);
            ADD_FAILURE() << number << " is not refused";
        } catch (const std::system_error& refused) {
            EXPECT_EQ(refused.code(), std::errc::bad_file_descriptor);
        }
    }
}

TEST_P(GoalRemembers, ItsDescriptorIsClosed) {
    const auto lowest_free = [] { return Fd(::fcntl(STDIN_FILENO, F_DUPFD, 0)).number(); };
    const int before = lowest_free();
    for (int turn = 0; turn < 3; ++turn) {
        const auto one = GetParam().make(), another = GetParam().make();
    }
    EXPECT_EQ(lowest_free(), before);
}

}  // namespace
