// What a poller on kqueue guarantees its worker when it passes changes to the kernel only with the
// next wait.
//
//   poller           every check
//   poller list      those whose names contain "list"

#include <fcntl.h>
#include <sys/event.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "poller.h"

namespace {
int calls = 0;
}

// The linker's --wrap=kevent redirects our calls here.
extern "C" int __real_kevent(int, const struct kevent*, int, struct kevent*, int, const timespec*);
extern "C" int __wrap_kevent(int queue, const struct kevent* changes, int change_count,
                             struct kevent* events, int event_count, const timespec* timeout) {
    ++calls;
    return __real_kevent(queue, changes, change_count, events, event_count, timeout);
}

namespace {

using namespace std::chrono_literals;
using web::Fd;
using web::Interest;
using web::Poller;

void equal(const char* what, std::size_t got, std::size_t wanted) {
    if (got == wanted) return;
    throw std::string(what) + ": expected " + std::to_string(wanted) + ", got " +
        std::to_string(got);
}

bool has(std::span<const int> all, int one) {
    return std::ranges::find(all, one) != all.end();
}

/// `near` is watched. It can be written to at once, and read once `far` has sent something.
struct Pair {
    Fd near;
    Fd far;
};

Pair make_pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) throw std::string("fds");
    return {Fd(ends[0]), Fd(ends[1])};
}

Pair talking_pair() {
    Pair pair = make_pair();
    if (::write(pair.far.number(), "x", 1) != 1) throw std::string("write");
    return pair;
}

std::vector<Pair> add_pairs(Poller& poller, std::size_t count) {
    std::vector<Pair> pairs(count);
    for (Pair& pair : pairs) {
        pair = talking_pair();
        poller.add(pair.near.number(), Interest::receive);
    }
    return pairs;
}

/// epoll_ctl(2): a file of this kind cannot be watched.
Fd unwatchable() {
    return Fd(::open("/dev/null", O_RDONLY));
}

void one_call() {
    Poller poller;
    const auto pairs = add_pairs(poller, 100);
    poller.change(pairs[0].near.number(), Interest::send);
    poller.remove(pairs[1].near.number(), Interest::receive);
    equal("calls of kevent before the wait", static_cast<std::size_t>(calls), 0);
    equal("ready", poller.wait(0ms).size(), 99);
    equal("calls of kevent", static_cast<std::size_t>(calls), 1);
    equal("ready", poller.wait(0ms).size(), 99);
}

// With two changes each, they need more than one list of 256.
void full_list() {
    Poller poller;
    const auto pairs = add_pairs(poller, 250);
    equal("ready", poller.wait(0ms).size(), 250);
    for (const Pair& pair : pairs)
        poller.change(pair.near.number(), Interest::send);
    equal("ready to be sent to", poller.wait(0ms).size(), 250);
    equal("calls of kevent", static_cast<std::size_t>(calls), 4);
}

void failed() {
    Poller poller;
    const Fd file = unwatchable();
    poller.add(file.number(), Interest::receive);
    const auto pairs = add_pairs(poller, 1);
    poller.wait(0ms);
    equal("unwatched", has(poller.failed(), file.number()), true);
    equal("unwatched, of those that are not", has(poller.failed(), pairs[0].near.number()), false);
    equal("ready", poller.wait(0ms).size(), 1);
    equal("unwatched by a later wait", poller.failed().size(), 0);
}

// The errors alone do not fit into one call.
void all_failed() {
    Poller poller;
    std::vector<Fd> files(300);
    for (Fd& file : files) {
        file = unwatchable();
        poller.add(file.number(), Interest::receive);
    }
    const auto pairs = add_pairs(poller, 1);
    poller.wait(0ms);
    const auto found = std::ranges::count_if(
        files, [&](const Fd& file) { return has(poller.failed(), file.number()); });
    equal("unwatched", static_cast<std::size_t>(found), files.size());
    equal("ready", poller.wait(0ms).size(), 1);
}

void closed() {
    Poller poller;
    auto pairs = add_pairs(poller, 2);
    poller.wait(0ms);
    poller.change(pairs[0].near.number(), Interest::send);
    pairs[0] = Pair();
    poller.wait(0ms);
    equal("unwatched", poller.failed().size(), 0);
    equal("ready", poller.wait(0ms).size(), 1);
}

// As if another worker had accepted a client in the meantime.
void number_used_again() {
    Poller poller;
    auto pairs = add_pairs(poller, 1);
    poller.wait(0ms);
    const int number = pairs[0].near.number();
    poller.change(number, Interest::send);
    const Pair other = talking_pair();
    pairs.clear();
    const Fd again(::fcntl(other.near.number(), F_DUPFD, number));
    equal("the number", static_cast<std::size_t>(again.number()), static_cast<std::size_t>(number));
    for (int i = 0; i < 2; ++i) {
        equal("ready", poller.wait(0ms).size(), 0);
        equal("unwatched", poller.failed().size(), 0);
    }
}

void removed() {
    Poller poller;
    const auto pairs = add_pairs(poller, 1);
    poller.remove(pairs[0].near.number(), Interest::receive);
    equal("ready", poller.wait(0ms).size() + poller.wait(0ms).size(), 0);
}

struct Check {
    std::string_view name;
    void (*run)();
};

constexpr std::array checks{
    Check{"one-call", one_call}, Check{"full-list", full_list},
    Check{"unwatched", failed},  Check{"unwatched-all", all_failed},
    Check{"closed", closed},     Check{"number-used-again", number_used_again},
    Check{"removed", removed},
};

bool passes(const Check& check) {
    calls = 0;
    try {
        check.run();
        return true;
    } catch (const std::string& problem) {
        std::fprintf(stderr, "FAILED %s: %s\n", check.name.data(), problem.c_str());
        return false;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view wanted = argc > 1 ? argv[1] : "";
    int failed = 0;
    for (const Check& check : checks)
        if (check.name.contains(wanted) && !passes(check)) ++failed;
    return failed == 0 ? 0 : 1;
}
