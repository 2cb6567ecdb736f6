// What a ring of sends guarantees its worker: each socket gets its own bytes, and only those.
//
//   ring           every check
//   ring full      those whose names contain "full"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "../unit/checks.h"
#include "fd.h"
#include "send_ring.h"

namespace {

using web::Fd;
using web::Send;
using web::SendRing;

constexpr std::size_t many = SendRing::capacity;

void must(bool holds, const char* what) {
    if (!holds) throw std::string(what);
}

/// `near` sends, without blocking, and `far` receives.
struct Pair {
    Pair() {
        int ends[2];
        must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "no socket pair");
        near = Fd(ends[0]);
        far = Fd(ends[1]);
    }

    /// Everything that has arrived.
    std::string received() const {
        std::string all;
        char bytes[4096];
        for (ssize_t count; (count = ::recv(far.number(), bytes, sizeof bytes, 0)) > 0;)
            all.append(bytes, static_cast<std::size_t>(count));
        return all;
    }

    Fd near;
    Fd far;
};

Send to(const Pair& pair, std::string_view bytes) {
    return {pair.near.number(), bytes};
}

std::string numbered(std::size_t i) {
    return std::string(i + 1, 'x') + std::to_string(i);
}

void one() {
    const Pair pair;
    SendRing ring;
    std::vector<Send> sends{to(pair, "hello")};
    must(ring.send(sends) == 0, "it was refused");
    must(sends.front().sent == 5, "five bytes were sent, and reported otherwise");
    must(pair.received() == "hello", "the bytes did not arrive");
}

// More sends than the ring has entries, so that the positions wrap around.
void each_its_own() {
    const std::vector<Pair> pairs(many);
    SendRing ring;
    for (std::size_t round = 0; round < 5; ++round) {
        std::vector<std::string> texts;
        std::vector<Send> sends;
        for (std::size_t i = 0; i < many - round; ++i)
            texts.push_back(numbered(i + round));
        for (std::size_t i = 0; i < texts.size(); ++i)
            sends.push_back(to(pairs[i], texts[i]));
        must(ring.send(sends) == 0, "it was refused");
        for (std::size_t i = 0; i < texts.size(); ++i) {
            must(sends[i].sent == texts[i].size(), "a count is wrong, or that of another socket");
            must(pairs[i].received() == texts[i], "a socket got bytes that are not its own");
        }
    }
}

void full_socket() {
    const Pair full;
    const Pair free;
    const std::string much(64 * 1024, 'x');
    std::size_t filled = 0;
    for (ssize_t count; (count = ::send(full.near.number(), much.data(), much.size(), 0)) > 0;)
        filled += static_cast<std::size_t>(count);
    SendRing ring;
    std::vector<Send> sends{to(full, "lost"), to(free, "hello")};
    must(ring.send(sends) == 0, "it was refused");
    must(sends[0].sent == 0, "a full socket is reported to have taken bytes");
    must(sends[1].sent == 5 && free.received() == "hello", "the next socket did not get its bytes");
    must(full.received().size() == filled, "bytes reached the full socket later");
}

void short_send() {
    const Pair pair;
    const std::string much(8 * 1024 * 1024, 'x');
    SendRing ring;
    std::vector<Send> sends{to(pair, much)};
    must(ring.send(sends) == 0, "it was refused");
    must(sends.front().sent > 0 && sends.front().sent < much.size(), "not a part was sent");
    must(pair.received().size() == sends.front().sent, "other bytes came than were reported");
}

// send(2), EPIPE: before Linux 5.12, SIGPIPE would end the process without MSG_NOSIGNAL.
void closed_peer() {
    Pair closed;
    const Pair open;
    closed.far = Fd();
    SendRing ring;
    std::vector<Send> sends{to(closed, "lost"), to(open, "hello")};
    must(ring.send(sends) == 0, "it was refused");
    must(sends[0].sent == 0, "a closed connection is reported to have taken bytes");
    must(open.received() == "hello", "the next socket did not get its bytes");
}

// When the call is over, the bytes may be changed, or their memory freed.
void bytes_released() {
    const std::vector<Pair> pairs(many);
    SendRing ring;
    for (int round = 0; round < 20; ++round) {
        std::string text = "round " + std::to_string(round);
        std::vector<Send> sends;
        for (const Pair& pair : pairs)
            sends.push_back(to(pair, text));
        must(ring.send(sends) == 0, "it was refused");
        const std::string before = text;
        std::ranges::fill(text, '!');
        for (const Pair& pair : pairs)
            must(pair.received() == before, "a socket got what was written there later");
    }
}

void descriptors_released() {
    const int before = ::dup(0);
    ::close(before);
    for (int i = 0; i < 3; ++i)
        SendRing{};
    const int after = ::dup(0);
    ::close(after);
    must(before == after, "a destroyed ring leaves a descriptor open");
}

constexpr unit::Check checks[] = {
    {"one", one},
    {"each-its-own", each_its_own},
    {"full-socket", full_socket},
    {"short-send", short_send},
    {"closed-peer", closed_peer},
    {"bytes-released", bytes_released},
    {"descriptors-released", descriptors_released},
};

}  // namespace

int main(int argc, char** argv) try {
    return unit::run(checks, argc, argv);
} catch (const std::system_error& error) {
    std::fprintf(stderr, "there is no ring: %s\n", error.what());
    return 1;
}
