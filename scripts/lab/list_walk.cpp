// Walks through a list of the lab on intrusive lists, with as many elements as its first argument
// says, "in-order" or "shuffled" in memory as the second says. Prints an element's size in bytes,
// and the nanoseconds of processor time that a visit takes.
#include <task.h>  // from the tree that is timed

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string_view>
#include <vector>

namespace {

struct Element : web::Link {
    std::size_t value = 1;
    std::byte rest[48]{};  // a client is larger than its links
};

constexpr std::size_t visits = 20'000'000;  // takes a quarter of a second or more

volatile std::size_t result;  // keeps the compiler from leaving out the walk

double now_ns() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

void walk(const web::List<Element>& list, std::size_t times) {
    for (std::size_t sum = 0; times > 0; --times) {
        list.for_each([&sum](const Element& element) { sum += element.value; });
        result = sum;
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        return 1;
    }
    std::vector<Element> elements(std::strtoul(arguments[1], nullptr, 10));
    std::vector<Element*> order;
    for (Element& element : elements) {
        order.push_back(&element);
    }
    if (std::string_view(arguments[2]) == "shuffled") {
        std::ranges::shuffle(order, std::minstd_rand(7));
    }
    web::List<Element> list;
    for (Element* element : order) {
        list.push_back(*element);
    }
    const std::size_t times = std::max<std::size_t>(1, visits / elements.size());
    walk(list, 1);
    const double before = now_ns();
    walk(list, times);
    const double took = now_ns() - before;
    std::printf("%zu %.3f\n", sizeof(Element), took / static_cast<double>(times * elements.size()));
}
