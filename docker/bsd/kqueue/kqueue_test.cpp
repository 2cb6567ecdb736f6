// Checks this library against what the manual pages promise of kqueue(2).
//
//   kqueue-test           every check
//   kqueue-test timer     those whose names contain "timer"
//
// Exits with 1 if a check fails, and prints the failure with the sentence that promises otherwise.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Event = struct kevent;
using Where = std::source_location;

constexpr auto soon = 2000ms;   // limit for events that should arrive
constexpr auto a_while = 30ms;  // how long to wait for events that should not arrive

// --- what failed, and the promise that it breaks ---

struct Failure {
    std::string problem;
    unsigned line;
};

std::string promise;  // the promise that the following assertions check

/// In the manual pages of both FreeBSD and macOS.
void both_say(const char* sentence) {
    promise = std::string("FreeBSD and macOS, kqueue(2): ") + sentence;
}
void freebsd_says(const char* sentence) {
    promise = std::string("FreeBSD, kqueue(2): ") + sentence;
}
/// Where the manual pages say nothing, or something else than the kernels do. The page
/// "kqueue, by building one" has the table of the four kernels, with the functions.
void freebsd_does(const char* sentence) {
    promise = std::string("FreeBSD, sys/kern/kern_event.c, ") + sentence;
}
void our_header_says(const char* sentence) {
    promise = std::string("sys/event.h: ") + sentence;
}

void expect(bool holds, const std::string& what, Where where = Where::current()) {
    if (!holds) throw Failure{"expected " + what, where.line()};
}

template <typename A, typename B>
void equal(const char* what, A got, B wanted, Where where = Where::current()) {
    if (std::cmp_equal(got, wanted)) return;
    throw Failure{
        std::string(what) + ": expected " + std::to_string(wanted) + ", got " + std::to_string(got),
        where.line()};
}

void failed(const char* what, int result, int wanted_errno, Where where = Where::current()) {
    const int error = errno;
    equal(what, result, -1, where);
    equal("errno", error, wanted_errno, where);
}

// For calls that prepare a check: a failure is the machine's and not kqueue's.
int must(int result, Where where = Where::current()) {
    if (result >= 0) return result;
    throw Failure{std::string("a system call failed: ") + std::strerror(errno), where.line()};
}

// --- descriptors and queues ---

class Fd {
public:
    explicit Fd(int number) : number_(must(number)) {}
    Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Fd() { close(); }
    operator int() const { return number_; }
    std::uintptr_t ident() const { return static_cast<std::uintptr_t>(number_); }
    void close() {
        if (number_ >= 0) ::close(std::exchange(number_, -1));
    }

private:
    int number_;
};

struct Two {
    Fd a;
    Fd b;
};

Two sockets() {
    int ends[2];
    must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
    return {Fd(ends[0]), Fd(ends[1])};
}

/// `a` is the reading end.
Two pipes() {
    int ends[2];
    must(::pipe2(ends, O_NONBLOCK | O_CLOEXEC));
    return {Fd(ends[0]), Fd(ends[1])};
}

Fd tcp_socket() {
    return Fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

sockaddr_in address_of(int socket) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    must(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size));
    return address;
}

Fd tcp_listener() {
    Fd listener = tcp_socket();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address));
    must(::listen(listener, 16));
    return listener;
}

Fd tcp_client(const sockaddr_in& address) {
    Fd client = tcp_socket();
    const auto* to = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(client, to, sizeof address) != 0 && errno != EINPROGRESS) must(-1);
    return client;
}

/// Connected to each other.
Two tcp_pair() {
    const Fd listener = tcp_listener();
    Fd client = tcp_client(address_of(listener));
    pollfd ready{listener, POLLIN, 0};
    ::poll(&ready, 1, 2000);
    return {Fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)),
            std::move(client)};
}

void reset(Fd& socket) {
    const linger now{1, 0};
    must(::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now));
    socket.close();
}

void put(int fd, std::string_view bytes) {
    equal("bytes written", ::write(fd, bytes.data(), bytes.size()), bytes.size());
}

std::string get(int fd) {
    char bytes[4096];
    const auto count = ::read(fd, bytes, sizeof bytes);
    return std::string(bytes, count > 0 ? static_cast<std::size_t>(count) : 0);
}

void drain(int fd) {
    while (!get(fd).empty()) {
    }
}

void fill(int fd) {
    const std::string bytes(65536, 'x');
    while (::write(fd, bytes.data(), bytes.size()) > 0) {
    }
}

Event change(std::uintptr_t ident, short filter, int flags, unsigned fflags = 0,
             std::int64_t data = 0, void* udata = nullptr) {
    Event event;
    EV_SET(&event, ident, filter, flags, fflags, data, udata);
    return event;
}

Event change(const Fd& fd, short filter, int flags) {
    return change(fd.ident(), filter, flags);
}

timespec timespec_of(std::chrono::milliseconds time) {
    return {time.count() / 1000, time.count() % 1000 * 1'000'000};
}

class Queue {
public:
    operator int() const { return fd_; }
    void close() { fd_.close(); }

    int try_apply(const Event& event) { return ::kevent(fd_, &event, 1, nullptr, 0, nullptr); }

    void apply(const Event& event, Where where = Where::current()) {
        if (try_apply(event) == 0) return;
        throw Failure{std::string("kevent refused a change: ") + std::strerror(errno),
                      where.line()};
    }

    /// Triggers a user event, which has to be there already.
    void trigger(std::uintptr_t ident, Where where = Where::current()) {
        apply(change(ident, EVFILT_USER, 0, NOTE_TRIGGER), where);
    }

    /// Returns at most `max_events` events, and waits for the first.
    std::vector<Event> wait(std::chrono::milliseconds time = soon, int max_events = 16) {
        std::vector<Event> events(static_cast<std::size_t>(max_events));
        const timespec limit = timespec_of(time);
        const int count = ::kevent(fd_, nullptr, 0, events.data(), max_events, &limit);
        events.resize(static_cast<std::size_t>(must(count)));
        return events;
    }

    Event one(Where where = Where::current()) {
        const auto events = wait();
        equal("events", events.size(), 1, where);
        return events[0];
    }

    void none(Where where = Where::current()) { equal("events", wait(a_while).size(), 0, where); }

private:
    Fd fd_{::kqueue()};
};

std::chrono::microseconds cpu_time() {
    static_assert(CLOCKS_PER_SEC == 1'000'000);
    return std::chrono::microseconds(std::clock());
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t descriptor_limit() {
    rlimit limit{};
    must(::getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    must(::setrlimit(RLIMIT_NOFILE, &limit));
    return limit.rlim_cur;
}

/// If waiting uses processor time, the queue wakes up without cause.
void costs_nothing(Queue& queue, Where where = Where::current()) {
    const auto before = cpu_time();
    equal("events", queue.wait(200ms).size(), 0, where);
    expect(cpu_time() - before < 10ms, "a wait that sleeps", where);
}

// --- EVFILT_READ ---

void read_until_drained() {
    Queue queue;
    const auto [a, b] = sockets();
    queue.apply(change(a, EVFILT_READ, EV_ADD));
    queue.none();
    both_say("EVFILT_READ … returns whenever there is data available to read.");
    put(b, "hello");
    equal("ident", queue.one().ident, a.ident());
    equal("filter", queue.one().filter, EVFILT_READ);
    get(a);
    queue.none();
}

void read_counts_bytes() {
    Queue queue;
    const auto [a, b] = tcp_pair();
    const auto [in, out] = pipes();
    both_say("On return, data contains the number of bytes of protocol data available to read.");
    queue.apply(change(a, EVFILT_READ, EV_ADD));
    put(b, "hello");
    equal("data", queue.one().data, 5);
    queue.apply(change(a, EVFILT_READ, EV_DELETE));
    both_say("Fifos, Pipes … data contains the number of bytes available.");
    queue.apply(change(in, EVFILT_READ, EV_ADD));
    put(out, "hello, pipe");
    equal("data", queue.one().data, 11);
}

void read_listener() {
    Queue queue;
    const Fd listener = tcp_listener();
    queue.apply(change(listener, EVFILT_READ, EV_ADD));
    queue.none();
    both_say(
        "Sockets which have previously been passed to listen(2) return when there is an "
        "incoming connection pending. data contains the size of the listen backlog.");
    std::vector<Fd> clients;
    for (int i = 0; i < 3; ++i)
        clients.push_back(tcp_client(address_of(listener)));
    std::this_thread::sleep_for(a_while);
    equal("data", queue.one().data, 3);
    Fd(::accept(listener, nullptr, nullptr));
    equal("data", queue.one().data, 2);
}

void read_low_water() {
    Queue queue;
    const auto [a, b] = tcp_pair();
    const int min = 10;
    must(::setsockopt(a, SOL_SOCKET, SO_RCVLOWAT, &min, sizeof min));
    queue.apply(change(a, EVFILT_READ, EV_ADD));
    both_say(
        "Other socket descriptors return when there is data to be read, subject to the "
        "SO_RCVLOWAT value of the socket buffer.");
    put(b, "123456789");
    queue.none();
    put(b, "0");
    equal("data", queue.one().data, 10);
}

void read_what_was_there() {
    const auto [a, b] = sockets();
    put(b, "early");
    both_say(
        "The filter is executed upon the initial registration of a kevent in order to detect "
        "whether a preexisting condition is present");
    for (const int flags : {EV_ADD, EV_ADD | EV_CLEAR}) {
        Queue queue;
        queue.apply(change(a, EVFILT_READ, flags));
        equal("data", queue.one().data, 5);
    }
}

void read_what_is_gone() {
    const auto [a, b] = sockets();
    both_say(
        "If the filter indicates that the condition that triggered the event no longer "
        "holds, the kevent is removed from the kqueue and is not returned.");
    for (const int flags : {EV_ADD, EV_ADD | EV_CLEAR, EV_ADD | EV_ONESHOT}) {
        Queue queue;
        queue.apply(change(a, EVFILT_READ, flags));
        put(b, "gone");
        get(a);
        queue.none();
    }
}

void read_aggregates() {
    Queue queue;
    const auto [a, b] = sockets();
    both_say(
        "Multiple events which trigger the filter do not result in multiple kevents being "
        "placed on the kqueue; instead, the filter will aggregate the events into a single "
        "struct kevent.");
    queue.apply(change(a, EVFILT_READ, EV_ADD | EV_CLEAR));
    put(b, "one");
    put(b, "two");
    equal("data", queue.one().data, 6);
}

void read_end() {
    Queue queue;
    const auto [a, b] = tcp_pair();
    queue.apply(change(a, EVFILT_READ, EV_ADD));
    put(b, "last");
    must(::shutdown(b, SHUT_WR));
    std::this_thread::sleep_for(a_while);
    both_say(
        "If the read direction of the socket has shutdown, then the filter also sets EV_EOF "
        "in flags, and returns the socket error (if any) in fflags.");
    expect((queue.one().flags & EV_EOF) != 0, "EV_EOF");
    equal("fflags", queue.one().fflags, 0);
    both_say(
        "It is possible for EOF to be returned (indicating the connection is gone) while "
        "there is still data pending in the socket buffer.");
    equal("data", queue.one().data, 4);
    get(a);
    equal("data", queue.one().data, 0);
    expect((queue.one().flags & EV_EOF) != 0, "EV_EOF");
}

void read_error() {
    Queue queue;
    auto [a, b] = tcp_pair();
    queue.apply(change(a, EVFILT_READ, EV_ADD | EV_CLEAR));
    queue.apply(change(a, EVFILT_WRITE, EV_ADD | EV_DISABLE));
    reset(b);
    both_say(
        "If the read direction of the socket has shutdown, then the filter also sets EV_EOF "
        "in flags, and returns the socket error (if any) in fflags.");
    const Event read = queue.one();
    expect((read.flags & EV_EOF) != 0, "EV_EOF");
    equal("fflags", read.fflags, ECONNRESET);
    both_say(
        "EVFILT_WRITE … For sockets, the low water mark and socket error handling is "
        "identical to the EVFILT_READ case.");
    queue.apply(change(a, EVFILT_WRITE, EV_ENABLE));
    const Event write = queue.one();
    equal("filter", write.filter, EVFILT_WRITE);
    expect((write.flags & EV_EOF) != 0, "EV_EOF");
    equal("fflags", write.fflags, ECONNRESET);
    our_header_says("SO_ERROR is clear then, and recv(2) reports the end of the data.");
    char byte = 0;
    equal("bytes received", ::read(a, &byte, 1), 0);
}

void read_pipe_end() {
    Queue queue;
    auto [in, out] = pipes();
    queue.apply(change(in, EVFILT_READ, EV_ADD));
    put(out, "last");
    out.close();
    both_say(
        "Fifos, Pipes … When the last writer disconnects, the filter will set EV_EOF in "
        "flags.");
    expect((queue.one().flags & EV_EOF) != 0, "EV_EOF");
    equal("data", queue.one().data, 4);
}

void read_fifo_again() {
    const auto directory = std::filesystem::temp_directory_path();
    const auto name = directory / ("kqueue-test." + std::to_string(::getpid()));
    must(::mkfifo(name.c_str(), 0600));
    Queue queue;
    const Fd in(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    Fd out(::open(name.c_str(), O_WRONLY | O_CLOEXEC));
    const Fd kept(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    queue.apply(change(in, EVFILT_READ, EV_ADD));
    out.close();
    freebsd_says(
        "When the last writer disconnects, the filter will set EV_EOF in flags. This "
        "will be cleared by the filter when a new writer connects, at which point the "
        "filter will resume waiting for data to become available before returning.");
    expect((queue.one().flags & EV_EOF) != 0, "EV_EOF");
    const Fd again(::open(name.c_str(), O_WRONLY | O_CLOEXEC));
    ::unlink(name.c_str());
    queue.none();
    put(again, "new");
    const Event event = queue.one();
    equal("flags", event.flags, 0);
    equal("data", event.data, 3);
}

// --- EVFILT_WRITE ---

void write_room() {
    Queue queue;
    const auto [a, b] = sockets();
    queue.apply(change(a, EVFILT_WRITE, EV_ADD));
    both_say(
        "EVFILT_WRITE … returns whenever it is possible to write to the descriptor. For "
        "sockets, pipes and fifos, data will contain the amount of space remaining in the "
        "write buffer.");
    const auto empty = queue.one().data;
    put(a, std::string(4096, 'x'));
    const auto less = queue.one().data;
    expect(less > 0 && less + 4096 <= empty, "4096 bytes less room");
    fill(a);
    queue.none();
    drain(b);
    equal("data", queue.one().data, empty);
}

void write_pipe_room() {
    Queue queue;
    const auto [in, out] = pipes();
    both_say(
        "For sockets, pipes and fifos, data will contain the amount of space remaining in "
        "the write buffer.");
    queue.apply(change(out, EVFILT_WRITE, EV_ADD));
    const auto size = must(::fcntl(out, F_GETPIPE_SZ));
    equal("data", queue.one().data, size);
    put(out, "hello");
    equal("data", queue.one().data, size - 5);
    fill(out);
    queue.none();
}

void write_end() {
    Queue queue;
    auto [in, out] = pipes();
    auto [a, b] = sockets();
    both_say("The filter will set EV_EOF when the reader disconnects");
    queue.apply(change(out, EVFILT_WRITE, EV_ADD));
    in.close();
    expect((queue.one().flags & EV_EOF) != 0, "EV_EOF of a pipe");
    queue.apply(change(out, EVFILT_WRITE, EV_DELETE));
    queue.apply(change(a, EVFILT_WRITE, EV_ADD));
    b.close();
    expect((queue.one().flags & EV_EOF) != 0, "EV_EOF of a socket");
}

void write_refused() {
    Queue queue;
    sockaddr_in closed_port = address_of(tcp_listener());
    const Fd client = tcp_client(closed_port);
    both_say(
        "EVFILT_WRITE … For sockets, the low water mark and socket error handling is "
        "identical to the EVFILT_READ case. [EV_EOF … returns the socket error in fflags]");
    queue.apply(change(client, EVFILT_WRITE, EV_ADD));
    const Event event = queue.one();
    expect((event.flags & EV_EOF) != 0, "EV_EOF");
    equal("fflags", event.fflags, ECONNREFUSED);
}

// --- two filters on one descriptor ---

void pair_of_filters() {
    Queue queue;
    const auto [a, b] = sockets();
    put(b, "both");
    queue.apply(change(a, EVFILT_READ, EV_ADD));
    queue.apply(change(a, EVFILT_WRITE, EV_ADD));
    both_say("A kevent is identified by the (ident, filter) pair");
    equal("events", queue.wait().size(), 2);
    queue.apply(change(a, EVFILT_READ, EV_DELETE));
    equal("filter", queue.one().filter, EVFILT_WRITE);
    queue.apply(change(a, EVFILT_READ, EV_ADD));
    queue.apply(change(a, EVFILT_WRITE, EV_DISABLE));
    equal("filter", queue.one().filter, EVFILT_READ);
}

void pair_clear_apart() {
    Queue queue;
    const auto [a, b] = sockets();
    both_say(
        "EV_CLEAR … Reset the state of the event after it is retrieved by the user. [Of that "
        "event: a kevent is identified by the (ident, filter) pair.]");
    queue.apply(change(a, EVFILT_READ, EV_ADD));
    queue.apply(change(a, EVFILT_WRITE, EV_ADD | EV_CLEAR));
    equal("filter", queue.one().filter, EVFILT_WRITE);
    queue.none();
    put(b, "data, which is no room");
    equal("filter", queue.one().filter, EVFILT_READ);
    equal("filter", queue.one().filter, EVFILT_READ);
    get(a);
    queue.apply(change(a, EVFILT_READ, EV_DELETE));
    queue.apply(change(a, EVFILT_WRITE, EV_DELETE));
    queue.apply(change(a, EVFILT_READ, EV_ADD | EV_CLEAR));
    queue.apply(change(a, EVFILT_WRITE, EV_ADD));
    equal("filter", queue.one().filter, EVFILT_WRITE);
    put(b, "data");
    equal("events", queue.wait().size(), 2);
    equal("filter", queue.one().filter, EVFILT_WRITE);
}

void pair_in_an_array_of_one() {
    both_say(
        "kevent() returns the number of events placed in the eventlist, up to the value "
        "given by nevents. [What did not fit stays pending.]");
    for (const int flags : {EV_ADD, EV_ADD | EV_CLEAR, EV_ADD | EV_ONESHOT, EV_ADD | EV_DISPATCH}) {
        Queue queue;
        const auto [a, b] = sockets();
        put(b, "both");
        queue.apply(change(a, EVFILT_READ, flags));
        queue.apply(change(a, EVFILT_WRITE, flags));
        const auto first = queue.wait(soon, 1);
        const auto second = queue.wait(soon, 1);
        equal("first", first.size(), 1);
        equal("second", second.size(), 1);
        expect(first[0].filter != second[0].filter, "one event of each filter");
    }
}

// --- flags ---

void add_again() {
    Queue queue;
    const auto [a, b] = sockets();
    int mark = 0;
    put(b, "x");
    both_say(
        "EV_ADD … Re-adding an existing event will modify the parameters of the original "
        "event, and not result in a duplicate entry.");
    queue.apply(change(a, EVFILT_READ, EV_ADD));
    queue.apply(change(a.ident(), EVFILT_READ, EV_ADD, 0, 0, &mark));
    expect(queue.one().udata == &mark, "the new udata");
    equal("events", queue.wait().size(), 1);
}

void add_again_keeps_flags() {
    freebsd_does(
        "kqueue_register: of a knote that exists, EV_ADD replaces udata, fflags and data. How it "
        "reports was decided when it was created.");
    for (const int flags : {EV_CLEAR, EV_DISPATCH, EV_ONESHOT}) {
        for (const bool gained : {true, false}) {
            Queue queue;
            const auto [a, b] = sockets();
            put(b, "x");
            queue.apply(change(a, EVFILT_READ, gained ? EV_ADD : EV_ADD | flags));
            queue.apply(change(a, EVFILT_READ, gained ? EV_ADD | flags : EV_ADD));
            equal("flags", queue.one().flags, gained ? 0 : flags);
            equal("events", queue.wait(a_while).size(), gained ? 1 : 0);
        }
    }
}

void add_disabled() {
    Queue queue;
    const auto [a, b] = sockets();
    put(b, "x");
    both_say("Adding an event automatically enables it, unless overridden by the EV_DISABLE flag.");
    queue.apply(change(a, EVFILT_READ, EV_ADD | EV_DISABLE));
    queue.none();
    queue.apply(change(b, EVFILT_WRITE, EV_ADD));
    equal("ident", queue.one().ident, b.ident());
}

void add_again_does_not_enable() {
    Queue queue;
    const auto [a, b] = sockets();
    put(b, "x");
    freebsd_does(
        "kqueue_register: only EV_ENABLE clears KN_DISABLED. That EV_ADD enables an event, as "
        "kqueue(2) says, is true of a new one.");
    queue.apply(change(a, EVFILT_READ, EV_ADD | EV_DISABLE));
    queue.apply(change(a, EVFILT_READ, EV_ADD));
    queue.none();
    queue.apply(change(a, EVFILT_READ, EV_ADD | EV_ENABLE));
    queue.one();
}

void enable_and_disable() {
    Queue queue;
    const auto [a, b] = sockets();
    freebsd_does("kqueue_register: EV_ENABLE and EV_DISABLE in one change are EINVAL.");
    const int both = EV_ENABLE | EV_DISABLE;
    failed("a new one", queue.try_apply(change(a, EVFILT_WRITE, EV_ADD | both)), EINVAL);
    queue.apply(change(a, EVFILT_WRITE, EV_ADD));
    failed("an old one", queue.try_apply(change(a, EVFILT_WRITE, both)), EINVAL);
    queue.one();
}

void add_and_delete() {
    Queue queue;
    const auto [a, b] = sockets();
    freebsd_does("kqueue_register: EV_ADD with EV_DELETE adds a knote, or deletes one.");
    queue.apply(change(a, EVFILT_WRITE, EV_ADD | EV_DELETE));
    queue.one();
    queue.apply(change(a, EVFILT_WRITE, EV_ADD | EV_DELETE));
    queue.none();
}

void every_change_replaces_udata() {
    Queue queue;
    const auto [a, b] = sockets();
    int mark = 0;
    freebsd_does("kqueue_register: every change replaces udata, also one without EV_ADD.");
    queue.apply(change(a, EVFILT_WRITE, EV_ADD | EV_DISABLE));
    queue.apply(change(a.ident(), EVFILT_WRITE, EV_ENABLE, 0, 0, &mark));
    expect(queue.one().udata == &mark, "the new udata");
    queue.apply(change(a, EVFILT_WRITE, EV_ENABLE));
    expect(queue.one().udata == nullptr, "no udata");
}

void disable_and_enable() {
    const auto [a, b] = sockets();
    both_say(
        "EV_DISABLE … Disable the event so kevent() will not return it. The filter itself is "
        "not disabled.");
    for (const int flags : {EV_ADD, EV_ADD | EV_CLEAR}) {
        Queue queue;
        queue.apply(change(a, EVFILT_READ, flags));
        queue.apply(change(a, EVFILT_READ, EV_DISABLE));
        put(b, "x");
        queue.none();
        both_say("EV_ENABLE … Permit kevent() to return the event if it is triggered.");
        queue.apply(change(a, EVFILT_READ, EV_ENABLE));
        equal("data", queue.one().data, 1);
        get(a);
    }
}

void disabled_sleeps() {
    Queue queue;
    auto [a, b] = tcp_pair();
    auto [in, out] = pipes();
    both_say("EV_DISABLE … Disable the event so kevent() will not return it.");
    queue.apply(change(a, EVFILT_READ, EV_ADD | EV_DISABLE));
    queue.apply(change(a, EVFILT_WRITE, EV_ADD));
    queue.apply(change(a, EVFILT_WRITE, EV_DISABLE));
    queue.apply(change(out, EVFILT_WRITE, EV_ADD | EV_DISABLE));
    reset(b);
    in.close();
    costs_nothing(queue);
}

void delete_event() {
    Queue queue;
    const auto [a, b] = sockets();
    put(b, "x");
    both_say("EV_DELETE … Removes the event from the kqueue.");
    queue.apply(change(a, EVFILT_READ, EV_ADD));
    queue.apply(change(a, EVFILT_READ, EV_DELETE));
    queue.none();
    both_say("ENOENT: The event could not be found to be modified or deleted.");
    failed("deleted twice", queue.try_apply(change(a, EVFILT_READ, EV_DELETE)), ENOENT);
    failed("enabled", queue.try_apply(change(a, EVFILT_READ, EV_ENABLE)), ENOENT);
    failed("no such timer", queue.try_apply(change(1, EVFILT_TIMER, EV_DELETE)), ENOENT);
}

void oneshot() {
    Queue queue;
    const auto [a, b] = sockets();
    put(b, "x");
    both_say(
        "EV_ONESHOT … Return only the first occurrence of the filter being triggered. After "
        "the user retrieves the event from the kqueue, it is deleted.");
    queue.apply(change(a, EVFILT_READ, EV_ADD | EV_ONESHOT));
    queue.one();
    queue.none();
    failed("deleted", queue.try_apply(change(a, EVFILT_READ, EV_DELETE)), ENOENT);
}

void clear() {
    Queue queue;
    const auto [a, b] = sockets();
    both_say(
        "EV_CLEAR … Reset the state of the event after it is retrieved by the user. This is "
        "useful for filters which report state transitions instead of the current state.");
    queue.apply(change(a, EVFILT_READ, EV_ADD | EV_CLEAR));
    put(b, "12");
    equal("data", queue.one().data, 2);
    queue.none();
    put(b, "3");
    equal("data", queue.one().data, 3);
    equal("data of what is pending again", (put(b, "4"), queue.one().data), 4);
    queue.none();
}

void dispatch() {
    Queue queue;
    const auto [a, b] = sockets();
    put(b, "x");
    freebsd_says("EV_DISPATCH … Disable the event source immediately after delivery of an event.");
    queue.apply(change(a, EVFILT_READ, EV_ADD | EV_DISPATCH));
    for (int i = 0; i < 2; ++i) {
        queue.one();
        queue.none();
        queue.apply(change(a, EVFILT_READ, EV_ENABLE));
    }
}

void receipts() {
    Queue queue;
    const auto [a, b] = sockets();
    put(b, "pending");
    queue.apply(change(a, EVFILT_READ, EV_ADD));
    std::array<Event, 3> events{
        change(a, EVFILT_WRITE, EV_ADD | EV_RECEIPT),
        change(7, EVFILT_TIMER, EV_DELETE | EV_RECEIPT),
        change(a, EVFILT_READ, EV_ADD | EV_RECEIPT),
    };
    both_say(
        "EV_RECEIPT … is useful for making bulk changes to a kqueue without draining any "
        "pending events. When passed as input, it forces EV_ERROR to always be returned. "
        "When a filter is successfully added the data field will be zero.");
    equal("receipts", ::kevent(queue, events.data(), 3, events.data(), 3, nullptr), 3);
    for (const Event& event : events)
        equal("flags", event.flags, EV_ERROR);
    equal("data of the first", events[0].data, 0);
    equal("data of the third", events[2].data, 0);
    both_say(
        "… then the event will be placed in the eventlist with EV_ERROR set in flags and the "
        "system error in data.");
    equal("data of the second", events[1].data, ENOENT);
    equal("filter of the second", events[1].filter, EVFILT_TIMER);
    freebsd_does(
        "kqueue_register: a knote keeps the flags it was created with, EV_RECEIPT too, but not "
        "those that say what to do.");
    for (const Event& event : queue.wait())
        equal("flags", event.flags, event.filter == EVFILT_WRITE ? EV_RECEIPT : 0);
}

void receipts_without_room() {
    Queue queue;
    const auto [a, b] = sockets();
    const std::array changes{
        change(a, EVFILT_READ, EV_ADD | EV_RECEIPT),
        change(a, EVFILT_WRITE, EV_ADD | EV_RECEIPT),
        change(b, EVFILT_WRITE, EV_ADD),
    };
    freebsd_says(
        "Note that if this flag is encountered and there is no remaining space in "
        "eventlist to hold the EV_ERROR event, then subsequent changes will not get "
        "processed.");
    Event event;
    equal("receipts", ::kevent(queue, changes.data(), 3, &event, 1, nullptr), 1);
    equal("data", event.data, 0);
    failed("the third", queue.try_apply(change(b, EVFILT_WRITE, EV_DELETE)), ENOENT);
}

void errors() {
    Queue queue;
    const auto [a, b] = sockets();
    put(b, "x");
    const std::array changes{
        change(a, EVFILT_WRITE, EV_DELETE),
        change(a, EVFILT_READ, EV_ADD),
    };
    std::array<Event, 4> events;
    both_say(
        "If an error occurs while processing an element of the changelist and there is "
        "enough room in the eventlist, then the event will be placed in the eventlist with "
        "EV_ERROR set in flags and the system error in data.");
    equal("events", ::kevent(queue, changes.data(), 2, events.data(), 4, nullptr), 1);
    equal("flags", events[0].flags, EV_ERROR);
    equal("data", events[0].data, ENOENT);
    equal("ident of what was added after it", queue.one().ident, a.ident());
    both_say(
        "Otherwise, -1 will be returned, and errno will be set to indicate the error "
        "condition.");
    failed("no room", ::kevent(queue, changes.data(), 2, nullptr, 0, nullptr), ENOENT);
}

void invalid() {
    Queue queue;
    const auto [a, b] = sockets();
    Event event;
    const timespec negative{-1, 0};
    const timespec too_much{0, 1'000'000'000};
    both_say("EINVAL: The specified time limit or filter is invalid.");
    failed("a time", ::kevent(queue, nullptr, 0, &event, 1, &negative), EINVAL);
    failed("nanoseconds", ::kevent(queue, nullptr, 0, &event, 1, &too_much), EINVAL);
    failed("a filter", queue.try_apply(change(a, -99, EV_ADD)), EINVAL);
    freebsd_says("EINVAL: The specified length of the event or change lists is negative.");
    failed("changes", ::kevent(queue, &event, -1, nullptr, 0, nullptr), EINVAL);
    failed("events", ::kevent(queue, nullptr, 0, &event, -1, nullptr), EINVAL);
    both_say("EBADF: The specified descriptor is invalid.");
    failed("no queue", ::kevent(a, nullptr, 0, &event, 1, nullptr), EBADF);
    failed("ident", queue.try_apply(change(99'999'999, EVFILT_READ, EV_ADD)), EBADF);
    failed("ident", queue.try_apply(change(~0UL, EVFILT_WRITE, EV_ADD)), EBADF);
}

void passes_through() {
    Queue queue;
    int mark = 0;
    Event user = change(1, EVFILT_USER, EV_ADD, 0, 0, &mark);
    user.ext[2] = 22;
    user.ext[3] = 33;
    both_say("udata: Opaque user-defined value passed through the kernel unchanged.");
    queue.apply(user);
    queue.apply(change(1, EVFILT_USER, 0, NOTE_TRIGGER, 0, &mark));
    expect(queue.one().udata == &mark, "the udata given");
    freebsd_says("The ext[2] and ext[3] members are always passed through the kernel unchanged");
    equal("ext[2]", queue.one().ext[2], 22);
    equal("ext[3]", queue.one().ext[3], 33);
    freebsd_does("kqueue_register: ext is stored when the knote is created, and no later change.");
    queue.apply(change(1, EVFILT_USER, EV_ADD));
    equal("ext[2]", queue.one().ext[2], 22);
}

void changes_come_first() {
    Queue queue;
    const auto [a, b] = sockets();
    put(b, "x");
    Event event = change(a, EVFILT_READ, EV_ADD);
    both_say(
        "All changes contained in the changelist are applied before any pending events are "
        "read from the queue. … The same array may be used for the changelist and "
        "eventlist.");
    equal("events", ::kevent(queue, &event, 1, &event, 1, nullptr), 1);
    equal("flags", event.flags, 0);
    equal("data", event.data, 1);
}

// --- closing ---

void close_removes() {
    Queue queue;
    auto [a, b] = sockets();
    put(b, "x");
    both_say(
        "Calling close() on a file descriptor will remove any kevents that reference the "
        "descriptor.");
    queue.apply(change(a, EVFILT_READ, EV_ADD));
    queue.apply(change(a, EVFILT_WRITE, EV_ADD));
    const auto ident = a.ident();
    a.close();
    costs_nothing(queue);
    both_say("EBADF: The specified descriptor is invalid.");
    failed("a change", queue.try_apply(change(ident, EVFILT_READ, EV_DELETE)), EBADF);
    failed("a change", queue.try_apply(change(ident, EVFILT_READ, EV_ADD)), EBADF);
}

void close_one_of_two() {
    Queue queue;
    auto [a, b] = sockets();
    const auto [c, d] = sockets();
    Fd same(::dup(a));
    queue.apply(change(a, EVFILT_READ, EV_ADD));
    queue.apply(change(c, EVFILT_READ, EV_ADD));
    queue.apply(change(d, EVFILT_READ, EV_ADD | EV_DISABLE));
    both_say(
        "Calling close() on a file descriptor will remove any kevents that reference the "
        "descriptor.");
    a.close();
    put(b, "for the duplicate");
    costs_nothing(queue);
    put(d, "for another");
    put(c, "for one that is disabled");
    equal("ident", queue.one().ident, c.ident());
    queue.apply(change(same, EVFILT_READ, EV_ADD));
    equal("events", queue.wait().size(), 2);
}

void number_used_again() {
    Queue queue;
    auto [a, b] = sockets();
    const auto [c, d] = sockets();
    our_header_says(
        "close(2) of a watched descriptor removes its kevents, even if a duplicate "
        "stays open, and a new file with the same number inherits nothing.");
    for (const bool duplicated : {false, true}) {
        for (const int flags : {EV_ADD, EV_ADD | EV_DISABLE, EV_ADD | EV_CLEAR}) {
            auto [old, peer] = sockets();
            const Fd number(::dup2(old, 500));
            if (!duplicated) old.close();
            put(peer, "x");
            queue.apply(change(number, EVFILT_READ, flags));
            put(d, "y");
            must(::dup2(c, number));  // closes the number and uses it again
            costs_nothing(queue);
            failed("enabled", queue.try_apply(change(number, EVFILT_READ, EV_ENABLE)), ENOENT);
            failed("deleted", queue.try_apply(change(number, EVFILT_READ, EV_DELETE)), ENOENT);
            queue.apply(change(number, EVFILT_READ, EV_ADD));
            equal("data of the new file", queue.one().data, 1);
            get(c);
            queue.none();
        }
    }
}

void add_after_reuse() {
    Queue queue;
    const auto [c, d] = sockets();
    our_header_says("… and a new file with the same number inherits nothing.");
    for (const bool duplicated : {false, true}) {
        auto [old, peer] = sockets();
        const Fd number(::dup2(old, 500));
        if (!duplicated) old.close();
        queue.apply(change(number, EVFILT_READ, EV_ADD | EV_ONESHOT));
        must(::dup2(c, number));
        queue.apply(change(number, EVFILT_READ, EV_ADD));
        if (duplicated) put(peer, "for the old file");
        costs_nothing(queue);
        put(d, "x");
        for (int i = 0; i < 2; ++i)
            equal("data of the new file", queue.one().data, 1);
        get(c);
    }
}

void close_queue() {
    Queue queue;
    const int number = queue;
    Event event = change(1, EVFILT_USER, EV_ADD);
    queue.apply(event);
    queue.trigger(1);
    queue.close();
    freebsd_says("kqueues are destroyed upon close()");
    both_say("EBADF: The specified descriptor is invalid.");
    failed("closed", ::kevent(number, &event, 1, nullptr, 0, nullptr), EBADF);
    const timespec zero{};
    const auto [a, b] = sockets();
    const Fd file(::dup2(a, number));
    failed("a socket by now", ::kevent(number, nullptr, 0, &event, 1, &zero), EBADF);
    must(::close(number));
    const int again = must(::kqueue());
    equal("events of a new queue", ::kevent(again, nullptr, 0, &event, 1, &zero), 0);
    ::close(again);
}

void closed_queues_are_freed() {
    our_header_says(
        "What the library holds for it, a little memory and four descriptors, is "
        "freed by the next call of kqueue().");
    const auto before = open_descriptors();
    {
        std::vector<Queue> queues(100);
        for (Queue& queue : queues) {
            queue.apply(change(1, EVFILT_TIMER, EV_ADD, 0, 1000));
            queue.apply(change(2, EVFILT_USER, EV_ADD));
        }
    }
    const Queue last;
    const std::size_t own = 5;  // descriptors of the last queue
    expect(open_descriptors() <= before + own, "no more descriptors than before");
}

// --- EVFILT_TIMER ---

void timer_repeats() {
    Queue queue;
    both_say(
        "EVFILT_TIMER … data specifies … the timeout period. The timer will be periodic "
        "unless EV_ONESHOT … is specified. [Of the unit: the default is milliseconds.]");
    const auto started = Clock::now();
    queue.apply(change(1, EVFILT_TIMER, EV_ADD, 0, 20));
    for (int i = 0; i < 3; ++i)
        equal("filter", queue.one().filter, EVFILT_TIMER);
    expect(Clock::now() - started >= 59ms, "three periods of 20 ms");
    both_say(
        "On return, data contains the number of times the timeout has expired since the last "
        "call to kevent().");
    std::this_thread::sleep_for(110ms);
    expect(queue.one().data >= 5, "five expirations");
    both_say("This filter automatically sets the EV_CLEAR flag internally.");
    equal("events", queue.wait(0ms).size(), 0);
    equal("flags", queue.one().flags, EV_CLEAR);
}

void timer_once() {
    Queue queue;
    both_say("The timer will be periodic unless EV_ONESHOT … is specified.");
    queue.apply(change(1, EVFILT_TIMER, EV_ADD | EV_ONESHOT, 0, 5));
    equal("data", queue.one().data, 1);
    queue.none();
    failed("deleted", queue.try_apply(change(1, EVFILT_TIMER, EV_DELETE)), ENOENT);
}

void timer_units() {
    struct Unit {
        unsigned fflags;
        std::int64_t data;
    };
    freebsd_says(
        "NOTE_MSECONDS data is in milliseconds. NOTE_USECONDS data is in microseconds. "
        "NOTE_NSECONDS data is in nanoseconds. If fflags is not set, the default is "
        "milliseconds.");
    for (const Unit unit : {Unit{NOTE_MSECONDS, 50}, Unit{NOTE_USECONDS, 50'000},
                            Unit{NOTE_NSECONDS, 50'000'000}, Unit{0, 50}}) {
        Queue queue;
        const auto started = Clock::now();
        queue.apply(change(1, EVFILT_TIMER, EV_ADD | EV_ONESHOT, unit.fflags, unit.data));
        queue.one();
        const auto took = Clock::now() - started;
        expect(took >= 50ms && took < 1s, "50 ms");
    }
    Queue queue;
    both_say("NOTE_SECONDS data is in seconds.");
    queue.apply(change(1, EVFILT_TIMER, EV_ADD, NOTE_SECONDS, 60));
    queue.none();
    both_say("EINVAL: The specified time limit or filter is invalid.");
    failed("negative", queue.try_apply(change(2, EVFILT_TIMER, EV_ADD, 0, -1)), EINVAL);
    failed("unit", queue.try_apply(change(2, EVFILT_TIMER, EV_ADD, 0x80, 1)), EINVAL);
}

void timer_of_zero() {
    Queue queue;
    freebsd_says(
        "Periodic timers with a specified timeout of 0 will be silently adjusted to "
        "timeout after 1 of the time units specified by the requested precision in "
        "fflags.");
    queue.apply(change(1, EVFILT_TIMER, EV_ADD, 0, 0));
    queue.one();
    queue.one();
}

void timer_again() {
    Queue queue;
    freebsd_says(
        "If an existing timer is re-added, the existing timer will be effectively "
        "canceled (throwing away any undelivered record of previous timer expiration) "
        "and re-started using the new parameters contained in data and fflags.");
    queue.apply(change(1, EVFILT_TIMER, EV_ADD, 0, 5));
    std::this_thread::sleep_for(20ms);
    queue.apply(change(1, EVFILT_TIMER, EV_ADD, 0, 1000));
    equal("events", queue.wait(0ms).size(), 0);
    equal("data", queue.one().data, 1);
}

void timer_keeps_flags() {
    freebsd_does("filt_timertouch: EV_ADD of a timer that exists leaves EV_ONESHOT as it was.");
    Queue queue;
    queue.apply(change(1, EVFILT_TIMER, EV_ADD, 0, 1000));
    queue.apply(change(1, EVFILT_TIMER, EV_ADD | EV_ONESHOT, 0, 5));
    equal("flags", queue.one().flags, EV_CLEAR);
    queue.one();
    queue.apply(change(1, EVFILT_TIMER, EV_DELETE));
    queue.apply(change(1, EVFILT_TIMER, EV_ADD | EV_ONESHOT, 0, 1000));
    queue.apply(change(1, EVFILT_TIMER, EV_ADD, 0, 5));
    equal("flags", queue.one().flags, EV_CLEAR | EV_ONESHOT);
    queue.none();
}

void timer_goes_on() {
    Queue queue;
    freebsd_does("filt_timertouch: a change without EV_ADD leaves a timer's time as it was.");
    queue.apply(change(1, EVFILT_TIMER, EV_ADD, 0, 60));
    const auto started = Clock::now();
    queue.apply(change(1, EVFILT_TIMER, EV_ENABLE, NOTE_SECONDS, 0));
    queue.one();
    const auto took = Clock::now() - started;
    expect(took >= 50ms && took < 1s, "60 ms");
}

void timer_dispatch() {
    Queue queue;
    freebsd_does("kqueue_scan: EV_DISPATCH disables what has EV_CLEAR too, as every timer has.");
    queue.apply(change(1, EVFILT_TIMER, EV_ADD | EV_DISPATCH, 0, 5));
    equal("flags", queue.one().flags, EV_CLEAR | EV_DISPATCH);
    queue.none();
    queue.apply(change(1, EVFILT_TIMER, EV_ENABLE));
    queue.one();
}

void timer_disabled() {
    Queue queue;
    both_say("EV_DISABLE … The filter itself is not disabled.");
    queue.apply(change(1, EVFILT_TIMER, EV_ADD | EV_DISABLE, 0, 10));
    std::this_thread::sleep_for(55ms);
    queue.none();
    queue.apply(change(1, EVFILT_TIMER, EV_ENABLE));
    expect(queue.one().data >= 5, "the expirations meanwhile");
}

// --- EVFILT_USER ---

void user_flags() {
    struct Step {
        unsigned fflags;
        unsigned result;
    };
    Queue queue;
    queue.apply(change(1, EVFILT_USER, EV_ADD | EV_CLEAR));
    queue.none();
    freebsd_says(
        "The lower 24 bits of the fflags may be used for user defined flags and "
        "manipulated using the following: NOTE_FFNOP Ignore the input fflags. NOTE_FFAND "
        "Bitwise AND fflags. NOTE_FFOR Bitwise OR fflags. NOTE_FFCOPY Copy fflags. … On "
        "return, fflags contains the users defined flags in the lower 24 bits.");
    for (const Step step :
         {Step{NOTE_FFCOPY | 0xab00cd, 0xab00cd}, Step{NOTE_FFNOP | 0xf, 0xab00cd},
          Step{NOTE_FFOR | 0x00ff00, 0xabffcd}, Step{NOTE_FFAND | 0xff, 0xcd}}) {
        queue.apply(change(1, EVFILT_USER, 0, step.fflags | NOTE_TRIGGER));
        equal("fflags", queue.one().fflags, step.result);
    }
}

void user_trigger() {
    Queue queue;
    freebsd_says("NOTE_TRIGGER Cause the event to be triggered.");
    queue.apply(change(1, EVFILT_USER, EV_ADD));
    queue.apply(change(1, EVFILT_USER, EV_ADD, 0, 5));
    queue.none();
    queue.apply(change(1, EVFILT_USER, 0, NOTE_TRIGGER));
    equal("ident", queue.one().ident, 1);
    queue.one();
    both_say("EV_CLEAR … Reset the state of the event after it is retrieved by the user.");
    queue.apply(change(2, EVFILT_USER, EV_ADD | EV_CLEAR));
    queue.trigger(2);
    equal("events", queue.wait().size(), 2);
    equal("ident of what was not cleared", queue.one().ident, 1);
    both_say("EV_DISABLE … The filter itself is not disabled.");
    queue.apply(change(2, EVFILT_USER, EV_DISABLE, NOTE_TRIGGER));
    equal("ident", queue.one().ident, 1);
    queue.apply(change(1, EVFILT_USER, EV_DELETE));
    queue.none();
    queue.apply(change(2, EVFILT_USER, EV_ENABLE));
    equal("ident", queue.one().ident, 2);
}

void user_added_untriggered() {
    Queue queue;
    freebsd_does(
        "filt_userattach reads NOTE_TRIGGER from fflags that kqueue_register has set to 0. So only "
        "a later change triggers.");
    queue.apply(change(1, EVFILT_USER, EV_ADD, NOTE_TRIGGER));
    queue.none();
    queue.trigger(1);
    queue.one();
}

void user_reset() {
    Queue queue;
    queue.apply(change(1, EVFILT_USER, EV_ADD));
    queue.trigger(1);
    queue.one();
    freebsd_does("filt_usertouch: EV_CLEAR in a later change takes back what was triggered.");
    queue.apply(change(1, EVFILT_USER, EV_CLEAR, NOTE_TRIGGER));
    queue.none();
    queue.trigger(1);
    queue.one();
    equal("flags", queue.one().flags, 0);
}

// --- waiting ---

void wait_no_time() {
    Queue queue;
    both_say(
        "To effect a poll, the timeout argument should be non-NULL, pointing to a "
        "zero-valued timespec structure.");
    const auto started = Clock::now();
    equal("events", queue.wait(0ms).size(), 0);
    expect(Clock::now() - started < 100ms, "no wait");
    freebsd_says(
        "When nevents is zero, kevent() will return immediately even if there is a "
        "timeout specified unlike select(2).");
    const timespec minute{60, 0};
    equal("events", ::kevent(queue, nullptr, 0, nullptr, 0, &minute), 0);
    equal("events", ::kevent(queue, nullptr, 0, nullptr, 0, nullptr), 0);
    expect(Clock::now() - started < 100ms, "no wait");
}

void wait_some_time() {
    Queue queue;
    both_say(
        "If timeout is a non-NULL pointer, it specifies a maximum interval to wait for an "
        "event … If the time limit expires, then kevent() returns 0.");
    auto shortest = Clock::duration::max();  // on a busy machine some only take longer
    for (int times = 0; times < 20; ++times) {
        const auto started = Clock::now();
        equal("events", queue.wait(5ms).size(), 0);
        shortest = std::min<Clock::duration>(shortest, Clock::now() - started);
    }
    expect(shortest >= 5ms && shortest < 500ms, "5 ms");
    const timespec half_a_millisecond{0, 500'000};
    Event event;
    equal("events", ::kevent(queue, nullptr, 0, &event, 1, &half_a_millisecond), 0);
    const timespec longest{std::numeric_limits<time_t>::max(), 999'999'999};
    queue.apply(change(1, EVFILT_USER, EV_ADD));
    queue.trigger(1);
    equal("events", ::kevent(queue, nullptr, 0, &event, 1, &longest), 1);
}

void wait_for_ever() {
    Queue queue;
    const Two ends = sockets();
    std::thread other([&] {
        std::this_thread::sleep_for(a_while);
        queue.apply(change(1, EVFILT_USER, EV_ADD | EV_ONESHOT));
        queue.trigger(1);
        std::this_thread::sleep_for(a_while);
        queue.apply(change(ends.a, EVFILT_WRITE, EV_ADD));
    });
    both_say(
        "If timeout is a NULL pointer, kevent() waits indefinitely. [And a change by another "
        "thread while one waits is a change.]");
    Event event;
    equal("events", ::kevent(queue, nullptr, 0, &event, 1, nullptr), 1);
    equal("filter", event.filter, EVFILT_USER);
    equal("events", ::kevent(queue, nullptr, 0, &event, 1, nullptr), 1);
    equal("filter", event.filter, EVFILT_WRITE);
    other.join();
}

void wait_interrupted() {
    Queue queue;
    const auto [a, b] = sockets();
    struct sigaction nothing{};
    nothing.sa_handler = [](int) {};
    must(::sigaction(SIGUSR1, &nothing, nullptr));
    std::atomic<bool> returned = false;
    std::thread other([&returned, self = ::pthread_self()] {
        while (!returned) {
            std::this_thread::sleep_for(a_while);
            ::pthread_kill(self, SIGUSR1);
        }
    });
    const Event added = change(a, EVFILT_READ, EV_ADD);
    Event event;
    const int result = ::kevent(queue, &added, 1, &event, 1, nullptr);
    const int error = errno;
    returned = true;
    other.join();
    both_say(
        "EINTR: A signal was delivered before the timeout expired and before any events were "
        "placed on the kqueue for return.");
    equal("result", result, -1);
    equal("errno", error, EINTR);
    freebsd_says(
        "When kevent() call fails with EINTR error, all changes in the changelist have "
        "been applied.");
    put(b, "x");
    queue.one();
}

void wait_by_poll() {
    Queue queue;
    pollfd ready{queue, POLLIN, 0};
    freebsd_says("Kqueues: Returns when pending events are present on the queue");
    equal("ready", ::poll(&ready, 1, 0), 0);
    queue.apply(change(1, EVFILT_TIMER, EV_ADD | EV_ONESHOT, 0, 5));
    equal("ready", ::poll(&ready, 1, 1000), 1);
    queue.one();
    equal("ready", ::poll(&ready, 1, 0), 0);
}

void many_threads() {
    constexpr int events = 400;
    Queue queue;
    std::atomic<int> seen = 0;
    std::vector<std::thread> waiters;
    our_header_says("Thread-safe: one thread may change a queue while others wait on it.");
    for (int i = 0; i < 4; ++i) {
        waiters.emplace_back([&queue, &seen] {
            Event event;
            while (::kevent(queue, nullptr, 0, &event, 1, nullptr) == 1 && event.ident != 0)
                ++seen;
        });
    }
    for (std::uintptr_t i = 1; i <= events; ++i) {
        queue.apply(change(i, EVFILT_USER, EV_ADD | EV_ONESHOT));
        queue.trigger(i);
    }
    for (const auto end = Clock::now() + soon; seen < events && Clock::now() < end;)
        std::this_thread::sleep_for(1ms);
    queue.apply(change(0, EVFILT_USER, EV_ADD));
    queue.trigger(0);
    for (std::thread& waiter : waiters)
        waiter.join();
    equal("events, each of which one thread saw", seen.load(), events);
}

// --- more events than fit ---

std::vector<Two> many_sockets() {
    const std::size_t limit = descriptor_limit() - open_descriptors() - 50;
    std::vector<Two> all;
    for (std::size_t i = 0; i < std::min<std::size_t>(5000, limit / 2); ++i)
        all.push_back(sockets());
    return all;
}

using Counts = std::map<std::pair<std::uintptr_t, short>, int>;

void all_served_alike(const Counts& counts, std::size_t kevents, Where where = Where::current()) {
    equal("kevents that were ever returned", counts.size(), kevents, where);
    std::vector<int> sorted;
    for (const auto& [kevent, count] : counts)
        sorted.push_back(count);
    std::ranges::sort(sorted);
    const int median = sorted[sorted.size() / 2];
    expect(sorted.front() * 2 >= median && sorted.back() <= median * 2,
           "counts between " + std::to_string(median / 2) + " and " + std::to_string(median * 2) +
               ", got " + std::to_string(sorted.front()) + " to " + std::to_string(sorted.back()),
           where);
}

// All sockets are always ready for both filters. The timer must not be starved either.
void every_filter_is_served() {
    Queue queue;
    const auto all = many_sockets();
    for (const auto& [a, b] : all) {
        put(b, "x");
        queue.apply(change(a, EVFILT_READ, EV_ADD));
        queue.apply(change(a, EVFILT_WRITE, EV_ADD));
    }
    queue.apply(change(0, EVFILT_TIMER, EV_ADD, 0, 1));
    both_say(
        "kevent() returns the number of events placed in the eventlist, up to the value "
        "given by nevents. [What did not fit stays pending.]");
    Counts counts;
    int expirations = 0;
    constexpr int batch = 256;
    const std::size_t calls = 4 * 2 * all.size() / batch;
    for (std::size_t i = 0; i < calls; ++i) {
        for (const Event& event : queue.wait(soon, batch)) {
            if (event.filter == EVFILT_TIMER) {
                ++expirations;
            } else {
                ++counts[{event.ident, event.filter}];
            }
        }
    }
    all_served_alike(counts, 2 * all.size());
    expect(expirations > 1, "the timer's events among them");
}

void nothing_is_lost() {
    const auto all = many_sockets();
    both_say(
        "kevent() returns the number of events placed in the eventlist, up to the value "
        "given by nevents. [What did not fit stays pending.]");
    for (const int flags : {EV_ADD | EV_CLEAR, EV_ADD | EV_ONESHOT}) {
        Queue queue;
        for (const auto& [a, b] : all) {
            put(b, "x");
            queue.apply(change(a, EVFILT_READ, flags));
            queue.apply(change(a, EVFILT_WRITE, flags));
        }
        Counts counts;
        for (auto events = queue.wait(0ms, 7); !events.empty(); events = queue.wait(0ms, 7)) {
            for (const Event& event : events)
                ++counts[{event.ident, event.filter}];
        }
        equal("kevents that were returned", counts.size(), 2 * all.size());
        for (const auto& [kevent, count] : counts)
            equal("times that one was returned", count, 1);
    }
}

// --- all of them ---

struct Check {
    std::string_view name;
    void (*run)();
};

constexpr Check checks[] = {
    {"read/until-drained", read_until_drained},
    {"read/counts-bytes", read_counts_bytes},
    {"read/listener", read_listener},
    {"read/low-water", read_low_water},
    {"read/what-was-there", read_what_was_there},
    {"read/what-is-gone", read_what_is_gone},
    {"read/aggregates", read_aggregates},
    {"read/end", read_end},
    {"read/error", read_error},
    {"read/pipe-end", read_pipe_end},
    {"read/fifo-again", read_fifo_again},
    {"write/room", write_room},
    {"write/pipe-room", write_pipe_room},
    {"write/end", write_end},
    {"write/refused", write_refused},
    {"both/pair-of-filters", pair_of_filters},
    {"both/clear-apart", pair_clear_apart},
    {"both/in-an-array-of-one", pair_in_an_array_of_one},
    {"flags/add-again", add_again},
    {"flags/add-again-keeps-flags", add_again_keeps_flags},
    {"flags/add-disabled", add_disabled},
    {"flags/add-again-does-not-enable", add_again_does_not_enable},
    {"flags/enable-and-disable", enable_and_disable},
    {"flags/add-and-delete", add_and_delete},
    {"flags/every-change-replaces-udata", every_change_replaces_udata},
    {"flags/disable-and-enable", disable_and_enable},
    {"flags/disabled-sleeps", disabled_sleeps},
    {"flags/delete", delete_event},
    {"flags/oneshot", oneshot},
    {"flags/clear", clear},
    {"flags/dispatch", dispatch},
    {"changes/receipts", receipts},
    {"changes/receipts-without-room", receipts_without_room},
    {"changes/errors", errors},
    {"changes/invalid", invalid},
    {"changes/pass-through", passes_through},
    {"changes/come-first", changes_come_first},
    {"close/removes", close_removes},
    {"close/one-of-two", close_one_of_two},
    {"close/number-used-again", number_used_again},
    {"close/add-after-reuse", add_after_reuse},
    {"close/queue", close_queue},
    {"close/queues-are-freed", closed_queues_are_freed},
    {"timer/repeats", timer_repeats},
    {"timer/once", timer_once},
    {"timer/units", timer_units},
    {"timer/of-zero", timer_of_zero},
    {"timer/again", timer_again},
    {"timer/keeps-flags", timer_keeps_flags},
    {"timer/goes-on", timer_goes_on},
    {"timer/dispatch", timer_dispatch},
    {"timer/disabled", timer_disabled},
    {"user/flags", user_flags},
    {"user/trigger", user_trigger},
    {"user/added-untriggered", user_added_untriggered},
    {"user/reset", user_reset},
    {"wait/no-time", wait_no_time},
    {"wait/some-time", wait_some_time},
    {"wait/for-ever", wait_for_ever},
    {"wait/interrupted", wait_interrupted},
    {"wait/by-poll", wait_by_poll},
    {"wait/many-threads", many_threads},
    {"full/every-filter-is-served", every_filter_is_served},
    {"full/nothing-is-lost", nothing_is_lost},
};

const char* running = "";

bool passes(const Check& check) {
    running = check.name.data();
    promise.clear();
    ::alarm(60);
    try {
        check.run();
        return true;
    } catch (const Failure& failure) {
        std::fprintf(stderr, "FAILED %s\n  kqueue_test.cpp:%u: %s\n  %s\n", running, failure.line,
                     failure.problem.c_str(), promise.c_str());
        return false;
    }
}

void stuck(int) {
    const std::string_view words[] = {"FAILED ", running, "\n  no end within 60 s\n"};
    for (const std::string_view word : words)
        std::ignore = ::write(STDERR_FILENO, word.data(), word.size());
    ::_exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    ::signal(SIGALRM, stuck);
    ::signal(SIGPIPE, SIG_IGN);
    const std::string_view wanted = argc > 1 ? argv[1] : "";
    int done = 0;
    int good = 0;
    for (const Check& check : checks) {
        if (!check.name.contains(wanted)) continue;
        ++done;
        good += passes(check) ? 1 : 0;
    }
    std::printf("%d of %d checks passed\n", good, done);
    return done > 0 && good == done ? 0 : 1;
}
