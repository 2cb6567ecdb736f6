#include <benchmark/benchmark.h>
#include <task.h>  // of the tree that is timed, not the one beside this file

#include <algorithm>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include "counted.h"

namespace {

struct Element : web::Link {
    std::size_t value = 1;
    std::byte rest[48]{};  // a client is more than its links
};

constexpr std::size_t few = 64, many = 100'000;

// In an order that is not theirs in memory, as clients come and go.
std::vector<Element*> shuffled(std::vector<Element>& elements) {
    std::vector<Element*> order;
    for (Element& element : elements) {
        order.push_back(&element);
    }
    std::ranges::shuffle(order, std::minstd_rand(7));
    return order;
}

// A list of 64 is made and ended.
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

// One of 64 becomes the last: what a server does with the deadline of a client that was heard of.
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

// All of 100,000, which stand in memory as they do in the list.
void walk(benchmark::State& state) {
    std::vector<Element> elements(many);
    std::vector<Element*> order;
    for (Element& element : elements) {
        order.push_back(&element);
    }
    visit_all(state, order);
}

// And which stand anywhere. Only nodes of a list's own, if it has any, are as they come.
void walk_shuffled(benchmark::State& state) {
    std::vector<Element> elements(many);
    visit_all(state, shuffled(elements));
}

BENCHMARK(build)->Apply(lab::counted);
BENCHMARK(refresh)->Apply(lab::counted);
BENCHMARK(walk)->Apply(lab::counted);
BENCHMARK(walk_shuffled)->Apply(lab::counted);

}  // namespace
