#include <benchmark/benchmark.h>
#include <task.h>  // from the tree that is timed, not the one next to this file

#include <algorithm>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include "counted.h"

namespace {

struct Element : web::Link {
    std::size_t value = 1;
    std::byte rest[48]{};  // a client is larger than its links
};

constexpr std::size_t few = 64, many = 100'000;

// In an order that differs from that in memory, as when clients connect and disconnect.
std::vector<Element*> shuffled(std::vector<Element>& elements) {
    std::vector<Element*> order;
    for (Element& element : elements) {
        order.push_back(&element);
    }
    std::ranges::shuffle(order, std::minstd_rand(7));
    return order;
}

// Builds and destroys a list of 64 elements.
void build(benchmark::State& state) {
    std::vector<Element> elements(few);
    for (auto _ : state) {
        web::List<Element> list;
        for (Element& element : elements) {
            list.push_back(element);
        }
        benchmark::DoNotOptimize(list.front());
    }
}

// Moves one of 64 elements to the end, as a server does with a client's deadline after it has
// received something.
void refresh(benchmark::State& state) {
    std::vector<Element> elements(few);
    web::List<Element> list;
    for (Element* element : shuffled(elements)) {
        list.push_back(*element);
    }
    std::minstd_rand random;
    for (auto _ : state) {
        Element& element = elements[random() % few];
        list.remove(element);
        list.push_back(element);
    }
}

void visit_all(benchmark::State& state, const std::vector<Element*>& order) {
    web::List<Element> list;
    for (Element* element : order) {
        list.push_back(*element);
    }
    for (auto _ : state) {
        std::size_t sum = 0;
        list.for_each([&sum](const Element& element) { sum += element.value; });
        benchmark::DoNotOptimize(sum);
    }
}

// Visits 100,000 elements that have the same order in memory as in the list.
void walk(benchmark::State& state) {
    std::vector<Element> elements(many);
    std::vector<Element*> order;
    for (Element& element : elements) {
        order.push_back(&element);
    }
    visit_all(state, order);
}

// The same in random memory order. If a list allocates its own nodes, these are still in order.
void walk_shuffled(benchmark::State& state) {
    std::vector<Element> elements(many);
    visit_all(state, shuffled(elements));
}

BENCHMARK(build)->Apply(lab::counted);
BENCHMARK(refresh)->Apply(lab::counted);
BENCHMARK(walk)->Apply(lab::counted);
BENCHMARK(walk_shuffled)->Apply(lab::counted);

}  // namespace
