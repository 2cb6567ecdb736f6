#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace std {

// The atomics that this thread has loaded and stored, in order, while it records them.
struct Accesses {
    vector<const void*> loaded;
    set<const void*> stored;
};
inline thread_local Accesses* accesses = nullptr;

// Used by task.h in place of std::atomic: the same, but its accesses can be recorded.
template <class T>
struct recorded_atomic : atomic<T> {
    using atomic<T>::atomic;

    T load(memory_order order = memory_order_seq_cst) const noexcept {
        if (accesses) accesses->loaded.push_back(this);
        return atomic<T>::load(order);
    }
    operator T() const noexcept { return load(); }

    void store(T value, memory_order order = memory_order_seq_cst) noexcept {
        if (accesses) accesses->stored.insert(this);
        atomic<T>::store(value, order);
    }
    T operator=(T value) noexcept {
        store(value);
        return value;
    }
};

}  // namespace std

#define atomic recorded_atomic
#define atomic_size_t recorded_atomic<std::size_t>
#include <task.h>  // from the tree that is validated, not the one next to this file
#undef atomic
#undef atomic_size_t

namespace {

// Used instead of a number: for an element that was moved from, and for no element.
constexpr std::size_t gone = SIZE_MAX, nothing = SIZE_MAX - 1;

// An element that can't be copied and counts its living objects, and whose move can run a function
// first, as if its thread were suspended there.
class Parcel {
public:
    static int alive() { return alive_.load(std::memory_order_relaxed); }

    explicit Parcel(std::size_t given, std::size_t from = 0) : number(given), producer(from) {
        // Relaxed, here and below: the test must not add an order that the queue lacks.
        alive_.fetch_add(1, std::memory_order_relaxed);
    }

    Parcel(Parcel&& other) noexcept : Parcel(std::exchange(other.number, gone), other.producer) {
        if (other.meanwhile) {
            std::exchange(other.meanwhile, nullptr)();
        }
    }

    Parcel& operator=(Parcel&&) = delete;
    ~Parcel() { alive_.fetch_sub(1, std::memory_order_relaxed); }

    std::size_t number;
    std::size_t producer;
    std::function<void()> meanwhile;

private:
    static inline std::atomic<int> alive_ = 0;
};

// Wraps any of the queues.
struct Queue {
    virtual ~Queue() = default;
    virtual bool push(Parcel&& parcel) = 0;
    virtual std::optional<Parcel> pop() = 0;

    // Takes the next element and returns its number.
    std::size_t next() {
        const auto found = pop();
        return found ? found->number : nothing;
    }
};

template <template <class> class Of>
struct QueueOf : Queue {
    explicit QueueOf(std::size_t capacity) : queue(capacity) {}
    bool push(Parcel&& parcel) override { return queue.push(std::move(parcel)); }
    std::optional<Parcel> pop() override { return queue.pop(); }
    Of<Parcel> queue;
};

template <template <class> class Of>
std::unique_ptr<Queue> make(std::size_t capacity) {
    return std::make_unique<QueueOf<Of>>(capacity);
}

// A kind of queue, and the number of threads it is for.
struct Kind {
    const char* name;
    std::size_t producers;
    std::size_t consumers;
    std::unique_ptr<Queue> (*make)(std::size_t capacity);
    std::size_t size;  // in bytes, without the elements
    std::size_t alignment;
};

template <template <class> class Of>
constexpr Kind kind(const char* name, std::size_t producers, std::size_t consumers) {
    return {name, producers, consumers, make<Of>, sizeof(Of<Parcel>), alignof(Of<Parcel>)};
}

std::ostream& operator<<(std::ostream& out, const Kind& kind) {
    return out << kind.name;
}

const Kind kinds[] = {kind<web::SpscQueue>("spsc", 1, 1), kind<web::MpscQueue>("mpsc", 3, 1),
                      kind<web::SpmcQueue>("spmc", 1, 3), kind<web::MpmcQueue>("mpmc", 3, 3)};

constexpr std::size_t capacities[] = {1, 2, 3, 4, 7, 8};

class Queues : public testing::TestWithParam<Kind> {};
class GoalQueues : public Queues {};

TEST_P(Queues, AreFullAtTheirCapacityAndEmptyAtFirst) {
    for (const std::size_t capacity : capacities) {
        const auto queue = GetParam().make(capacity);
        for (std::size_t lap = 0; lap < 5; ++lap) {
            ASSERT_EQ(queue->next(), nothing) << "of " << capacity;
            for (std::size_t i = 0; i < capacity; ++i) {
                ASSERT_TRUE(queue->push(Parcel(lap + i))) << i << " of " << capacity;
            }
            ASSERT_FALSE(queue->push(Parcel(1000))) << "of " << capacity;
            for (std::size_t i = 0; i < capacity; ++i) {
                ASSERT_EQ(queue->next(), lap + i) << "of " << capacity;
            }
        }
    }
}

// With any number of elements in it, at any place of the ring.
TEST_P(Queues, KeepTheOrder) {
    for (const std::size_t capacity : capacities) {
        for (std::size_t kept = 0; kept < capacity; ++kept) {
            const auto queue = GetParam().make(capacity);
            std::size_t in = 0, out = 0;
            while (out < 4 * capacity) {
                while (in <= out + kept) {
                    ASSERT_TRUE(queue->push(Parcel(in++))) << kept << " of " << capacity;
                }
                ASSERT_EQ(queue->next(), out++) << kept << " of " << capacity;
            }
        }
    }
}

TEST_P(Queues, LeaveAnElementThatDoesNotFit) {
    const auto queue = GetParam().make(1);
    Parcel parcel(6);
    EXPECT_TRUE(queue->push(Parcel(5)));
    EXPECT_FALSE(queue->push(std::move(parcel)));
    EXPECT_EQ(parcel.number, 6u);
    EXPECT_EQ(queue->next(), 5u);
    EXPECT_TRUE(queue->push(std::move(parcel)));
    EXPECT_EQ(queue->next(), 6u);
}

TEST_P(Queues, HoldWhatIsInThemAndEndWhatIsLeft) {
    for (const std::size_t capacity : capacities) {
        for (std::size_t left = 0; left <= capacity; ++left) {
            auto queue = GetParam().make(capacity);
            // so that the next elements begin at another place
            ASSERT_TRUE(queue->push(Parcel(0)));
            ASSERT_EQ(Parcel::alive(), 1);
            ASSERT_EQ(queue->next(), 0u);
            ASSERT_EQ(Parcel::alive(), 0);
            for (std::size_t i = 0; i < left; ++i) {
                ASSERT_TRUE(queue->push(Parcel(i)));
            }
            ASSERT_EQ(Parcel::alive(), static_cast<int>(left));
            queue.reset();
            ASSERT_EQ(Parcel::alive(), 0) << left << " of " << capacity;
        }
    }
}

using Parcels = std::vector<Parcel>;

void push_all(Queue& queue, Parcels& parcels) {
    for (Parcel& parcel : parcels) {
        while (!queue.push(std::move(parcel))) {
            std::this_thread::yield();
        }
    }
}

// Takes elements until there are none left for any thread.
void pop_all(Queue& queue, Parcels& parcels, std::atomic<std::size_t>& left) {
    while (left.load(std::memory_order_relaxed) > 0) {
        if (auto parcel = queue.pop()) {
            parcels.push_back(*std::move(parcel));
            left.fetch_sub(1, std::memory_order_relaxed);
        } else {
            std::this_thread::yield();
        }
    }
}

// Returns what each consumer received. The threads only push and pop, so that only the queue orders
// them, for the thread sanitizer too.
std::vector<Parcels> passed(Queue& queue, const Kind& kind, std::size_t each) {
    std::atomic<std::size_t> left = kind.producers * each;
    std::vector<Parcels> given(kind.producers), taken(kind.consumers);
    for (std::size_t producer = 0; producer < kind.producers; ++producer) {
        given[producer].reserve(each);
        for (std::size_t number = 0; number < each; ++number) {
            given[producer].emplace_back(number, producer);
        }
    }
    std::vector<std::thread> threads;
    for (Parcels& parcels : given) {
        threads.emplace_back(push_all, std::ref(queue), std::ref(parcels));
    }
    for (Parcels& parcels : taken) {
        parcels.reserve(left);
        threads.emplace_back(pop_all, std::ref(queue), std::ref(parcels), std::ref(left));
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return taken;
}

TEST_P(Queues, PassEachElementOnceAndEachProducersInOrder) {
    for (const std::size_t capacity : {1uz, 3uz, 8uz}) {
        const std::size_t each = 30 * capacity;
        const auto queue = GetParam().make(capacity);
        std::vector<std::vector<int>> times(GetParam().producers, std::vector<int>(each));
        for (const Parcels& parcels : passed(*queue, GetParam(), each)) {
            std::vector<std::size_t> next(GetParam().producers);
            for (const Parcel& parcel : parcels) {
                ASSERT_GE(parcel.number, next[parcel.producer]) << "of " << parcel.producer;
                next[parcel.producer] = parcel.number + 1;
                ++times[parcel.producer][parcel.number];
            }
        }
        ASSERT_EQ(times, std::vector(GetParam().producers, std::vector<int>(each, 1)));
        ASSERT_EQ(queue->next(), nothing);
    }
}

// One line for the producers, one for the consumers, and one that both only read.
TEST_P(GoalQueues, GiveEachEndALine) {
    EXPECT_EQ(GetParam().alignment, web::cache_line);
    EXPECT_GE(GetParam().size, 3 * web::cache_line);
}

TEST_P(GoalQueues, GiveEachProducerACell) {
    if (GetParam().producers == 1) {
        GTEST_SKIP() << "it has one producer";
    }
    const auto queue = GetParam().make(4);
    Parcel suspended(1);
    suspended.meanwhile = [&queue] {
        EXPECT_TRUE(queue->push(Parcel(2)));
        EXPECT_EQ(queue->next(), nothing);  // because later elements have to wait
    };
    EXPECT_TRUE(queue->push(std::move(suspended)));
    EXPECT_EQ(queue->next(), 1u);
    EXPECT_EQ(queue->next(), 2u);
    EXPECT_EQ(queue->next(), nothing);
}

// How often `function` loads atomics that it does not store as well: the other end's.
template <class Function>
std::size_t foreign_loads(Function function) {
    std::Accesses seen;
    std::accesses = &seen;
    function();
    std::accesses = nullptr;
    std::erase_if(seen.loaded, [&](const void* one) { return seen.stored.contains(one); });
    return seen.loaded.size();
}

// An end has to load the other's index only when the value that it remembers isn't enough.
TEST(GoalSpscQueue, RemembersTheOtherEndsIndex) {
    constexpr std::size_t capacity = 64;
    const auto queue = make<web::SpscQueue>(capacity);
    const auto fill = [&] {
        for (std::size_t i = 0; i < capacity; ++i) {
            ASSERT_TRUE(queue->push(Parcel(i)));
        }
    };
    const auto drain = [&] {
        for (std::size_t i = 0; i < capacity; ++i) {
            ASSERT_EQ(queue->next(), i);
        }
    };
    for (int lap = 0; lap < 3; ++lap) {
        EXPECT_LE(foreign_loads(fill), 2u) << "by push(), for " << capacity << " elements";
        EXPECT_LE(foreign_loads(drain), 2u) << "by pop(), for " << capacity << " elements";
    }
}

INSTANTIATE_TEST_SUITE_P(Each, Queues, testing::ValuesIn(kinds));
INSTANTIATE_TEST_SUITE_P(Each, GoalQueues, testing::ValuesIn(kinds));

}  // namespace
