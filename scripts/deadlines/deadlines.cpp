// Five ways to find out which of many clients are late, checked and timed.
//
//     deadlines check SEED          checks them with random events; errors go to stderr
//     deadlines refresh WAY COUNT   does COUNT refreshes, for a tool that counts instructions
//     deadlines time CLIENTS        a line for each way: its name, µs per tick, ns per refresh,
//                                   µs of the longest tick when all clients came at once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "ways.h"

namespace {

using namespace deadlines;

constexpr std::size_t few = 1000;
constexpr int served_share = 10;  // one client in `served_share` is served in a second
constexpr std::size_t minute = 60;

std::chrono::nanoseconds processor_time() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

double us_since(std::chrono::nanoseconds begin) {
    return static_cast<double>((processor_time() - begin).count()) / 1000;
}

/// The clients that a way reports must be late, and one that is late by more than the permitted
/// lateness must be reported.
template <typename Way>
bool agrees(const char* name, unsigned seed) {
    Way way;
    std::map<std::size_t, Time> expected;
    std::minstd_rand random(seed);
    Time now = start;
    std::vector<std::size_t> found;
    const auto wrong = [&](const char* how, std::size_t client) {
        std::fprintf(stderr, "%s: client %zu is %s\n", name, client, how);
        return false;
    };
    for (int step = 0; step < 100'000; ++step) {
        const std::size_t client = random() % few;
        const auto limit = static_cast<Limit>(random() % lengths.size());
        now += std::chrono::milliseconds(random() % 25);
        if (!expected.contains(client)) {
            way.add(client, limit, now);
            expected[client] = after(limit, now);
        } else if (random() % 16 == 0) {
            way.erase(client);
            expected.erase(client);
        } else if (client % 4 != 0) {
            way.refresh(client, limit, now);
            expected[client] = after(limit, now);
        }
        if (random() % 64 != 0) continue;
        found.clear();
        way.tick(now, found);
        for (const std::size_t late : found) {
            if (!expected.contains(late)) return wrong("found, and was not there", late);
            if (now < expected[late]) return wrong("found too early", late);
            expected.erase(late);
        }
        for (const auto& [missed, deadline] : expected) {
            if (now >= deadline + Way::lateness) return wrong("late and not found", missed);
        }
    }
    return true;
}

/// Clients of which some are served in each second, all with the same time between requests. Their
/// numbers are unrelated to their places in memory, as after an hour of connecting and
/// disconnecting.
template <typename Way>
class Crowd {
public:
    explicit Crowd(std::size_t clients) : numbers_(clients) {
        std::iota(numbers_.begin(), numbers_.end(), std::size_t{0});
        std::ranges::shuffle(numbers_, random_);
    }

    void come(std::size_t first, std::size_t end) {
        for (; first < end; ++first)
            way_.add(numbers_[first], Limit::idle, now_);
    }

    /// One after another, as in a server: which client is next depends on the contents of this one.
    void serve(std::size_t count) { each<true>(count); }

    /// The same without a refresh.
    void visit(std::size_t count) { each<false>(count); }

    /// Advances by a second and returns the duration of the tick. Late clients are added again,
    /// which is not part of that duration.
    double tick_us() {
        now_ += 1s;
        found_.clear();
        const auto begin = processor_time();
        way_.tick(now_, found_);
        const double took = us_since(begin);
        for (const std::size_t client : found_)
            way_.add(client, Limit::idle, now_);
        return took;
    }

private:
    template <bool refreshing>
    void each(std::size_t count) {
        for (std::size_t next = 0; count > 0; --count) {
            const std::size_t client = (random_() + next) % numbers_.size();
            Served& served = way_.served(client);
            ++served.requests;
            next = served.nothing;
            if constexpr (refreshing) refresh(client, Limit::idle, now_);
        }
    }

    // Not inlined: otherwise, for some ways, part of the work would be done once for all clients.
    [[gnu::noinline]] void refresh(std::size_t client, Limit limit, Time now) {
        way_.refresh(client, limit, now);
    }

    Way way_;
    Time now_ = start;
    std::minstd_rand random_;
    std::vector<std::size_t> numbers_;
    std::vector<std::size_t> found_;
};

template <typename Way>
void refresh(std::size_t count) {
    Crowd<Way> crowd(few);
    crowd.come(0, few);
    crowd.serve(count);
}

template <typename T>
T median(std::vector<T> values) {
    std::ranges::nth_element(values, values.begin() + static_cast<long>(values.size() / 2));
    return values[values.size() / 2];
}

/// For a second in which some clients are served: the tick, and what each refresh takes in addition
/// to a visit.
template <typename Way>
std::pair<double, double> usual_tick_us_and_refresh_ns(std::size_t clients) {
    Crowd<Way> crowd(clients);
    const std::size_t served = clients / served_share;
    for (std::size_t second = 0; second < 2 * minute; ++second) {
        const auto come = [=](std::size_t then) {
            return clients * std::min(then, minute) / minute;
        };
        crowd.come(come(second), come(second + 1));
        if (second >= minute) crowd.serve(served);
        crowd.tick_us();
    }
    std::vector<double> ticks, visits, refreshes;
    const auto ns_each = [=](auto&& serve) {
        const auto begin = processor_time();
        serve(served);
        return us_since(begin) * 1000 / static_cast<double>(served);
    };
    for (int second = 0; second < 30; ++second) {
        // In alternating order, because the second one finds some of its data in the cache.
        for (const bool refreshing : {second % 2 == 0, second % 2 != 0}) {
            if (refreshing) {
                refreshes.push_back(ns_each([&](std::size_t count) { crowd.serve(count); }));
            } else {
                visits.push_back(ns_each([&](std::size_t count) { crowd.visit(count); }));
            }
        }
        ticks.push_back(crowd.tick_us());
    }
    return {median(std::move(ticks)), median(std::move(refreshes)) - median(std::move(visits))};
}

/// All clients came in the same second. All are served, so that none is ever late.
template <typename Way>
double longest_tick_us(std::size_t clients) {
    Crowd<Way> crowd(clients);
    crowd.come(0, clients);
    double longest = 0;
    for (std::size_t second = 0; second < minute + 5; ++second) {
        crowd.serve(second % 2 == 0 ? clients : 0);
        longest = std::max(longest, crowd.tick_us());
    }
    return longest;
}

template <typename Way>
void time(const char* name, std::size_t clients) {
    const auto [tick_us, refresh_ns] = usual_tick_us_and_refresh_ns<Way>(clients);
    std::printf("%s %.3f %.2f %.3f\n", name, tick_us, refresh_ns, longest_tick_us<Way>(clients));
}

void with_each(auto&& call) {
    call.template operator()<NoDeadlines>("none");
    call.template operator()<Sweep>("sweep");
    call.template operator()<DenseSweep>("dense");
    call.template operator()<Lists>("lists");
    call.template operator()<Wheel>("wheel");
    call.template operator()<Heap>("heap");
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view verb = count > 2 ? arguments[1] : "";
    const auto number = count > 2 ? std::strtoul(arguments[count - 1], nullptr, 10) : 0;
    bool well = true;
    with_each([&]<typename Way>(const char* name) {
        if (verb == "time") {
            time<Way>(name, number);
        } else if (verb == "refresh") {
            if (arguments[2] == std::string_view(name)) refresh<Way>(number);
        } else if constexpr (requires { Way::lateness; }) {
            well = agrees<Way>(name, static_cast<unsigned>(number)) && well;
        }
    });
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}
