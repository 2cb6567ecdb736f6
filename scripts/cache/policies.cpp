// The hit rates of cache policies, which differ in what they evict when the cache is full: the
// server's own SIEVE against others, all with the same requests. Prints a line for each: its name,
// then the hits per hundred requests, without and with crawlers.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <list>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include "sieve.h"

namespace {

constexpr int files = 10'000;
constexpr std::size_t capacity = 100;
constexpr int requests = 2'000'000;
constexpr double skew = 0.9;
constexpr int crawled = 3;  // one request in `crawled` is a crawler's

/// The requests of people (Zipf), and between them those of crawlers, which request every file in
/// turn.
std::vector<int> trace(bool with_crawlers) {
    std::vector<double> up_to(files);
    double sum = 0;
    for (int i = 0; i < files; ++i)
        up_to[static_cast<std::size_t>(i)] = sum += 1 / std::pow(i + 1, skew);
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> anywhere(0, sum);
    std::vector<int> asked;
    int next = 0;
    for (int i = 0; i < requests; ++i) {
        if (with_crawlers && i % crawled == 0) {
            asked.push_back(next++ % files);
        } else {
            const auto at = std::ranges::lower_bound(up_to, anywhere(random));
            asked.push_back(static_cast<int>(at - up_to.begin()));
        }
    }
    return asked;
}

/// The first in is the first evicted; with `moves`, a hit moves a file to the end.
template <bool moves>
class Queue {
public:
    bool ask(int file) {
        if (const auto known = where_.find(file); known != where_.end()) {
            if (moves) order_.splice(order_.end(), order_, known->second);
            return true;
        }
        if (order_.size() == capacity) {
            where_.erase(order_.front());
            order_.pop_front();
        }
        where_[file] = order_.insert(order_.end(), file);
        return false;
    }

private:
    std::list<int> order_;
    std::unordered_map<int, std::list<int>::iterator> where_;
};

struct Node : web::SieveLinks<Node> {
    int file = 0;
};

class OurSieve {
public:
    bool ask(int file) {
        if (const auto known = nodes_.find(file); known != nodes_.end()) {
            known->second->visited = true;
            return true;
        }
        if (nodes_.size() == capacity) {
            Node& victim = sieve_.victim();
            sieve_.remove(victim);
            nodes_.erase(victim.file);
        }
        auto& node = nodes_[file] = std::make_unique<Node>();
        node->file = file;
        sieve_.add(*node);
        return false;
    }

private:
    web::Sieve<Node> sieve_;
    std::unordered_map<int, std::unique_ptr<Node>> nodes_;
};

/// Yang and others, SOSP 2023: new files pass through a small queue. If a file leaves it with fewer
/// than two hits, only its name is remembered, and if it is requested again it enters the main
/// queue.
class S3Fifo {
public:
    bool ask(int file) {
        if (const auto known = asked_.find(file); known != asked_.end()) {
            known->second = std::min(known->second + 1, 3);
            return true;
        }
        while (asked_.size() >= capacity)
            evict();
        const auto ghost = std::ranges::find(ghosts_, file);
        (ghost == ghosts_.end() ? small_ : main_).push_back(file);
        if (ghost != ghosts_.end()) ghosts_.erase(ghost);
        asked_[file] = 0;
        return false;
    }

private:
    void evict() {
        std::deque<int>& queue = small_.size() >= capacity / 10 || main_.empty() ? small_ : main_;
        const int file = queue.front();
        queue.pop_front();
        int& asked = asked_[file];
        if (&queue == &small_ ? asked > 1 : asked > 0) {
            asked = &queue == &small_ ? 0 : asked - 1;
            return main_.push_back(file);
        }
        asked_.erase(file);
        if (&queue != &small_) return;
        ghosts_.push_back(file);
        if (ghosts_.size() > capacity) ghosts_.pop_front();
    }

    std::deque<int> small_;
    std::deque<int> main_;
    std::deque<int> ghosts_;
    std::unordered_map<int, int> asked_;  // number of hits since it was added
};

template <typename Policy>
double hits(const std::vector<int>& asked) {
    Policy policy;
    const auto count = std::ranges::count_if(asked, [&](int file) { return policy.ask(file); });
    return 100.0 * static_cast<double>(count) / static_cast<double>(asked.size());
}

}  // namespace

int main() {
    const auto people = trace(false);
    const auto crawlers = trace(true);
    const auto tell = [&]<typename Policy>(const char* name) {
        std::printf("%s %.1f %.1f\n", name, hits<Policy>(people), hits<Policy>(crawlers));
    };
    tell.operator()<Queue<false>>("fifo");
    tell.operator()<Queue<true>>("lru");
    tell.operator()<OurSieve>("sieve");
    tell.operator()<S3Fifo>("s3-fifo");
}
