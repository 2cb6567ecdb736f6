#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>
#include <task.h>  // from the tree that is validated, not the one next to this file

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using web::ObjectPool;

constexpr unsigned char one = 1, two = 2;

// A value of `size` equal bytes that counts its living objects.
template <std::size_t size, std::size_t alignment = 1>
struct alignas(alignment) Value {
    static inline std::atomic<int> alive = 0;

    explicit Value(unsigned char byte) {
        bytes.fill(byte);
        ++alive;
    }

    ~Value() { --alive; }

    Value(const Value&) = delete;
    Value& operator=(const Value&) = delete;

    bool holds(unsigned char byte) const {
        return std::ranges::all_of(bytes, [byte](unsigned char each) { return each == byte; });
    }

    std::array<unsigned char, size> bytes;
};

struct Refusing {
    explicit Refusing(bool refuses) {
        if (refuses) {
            throw std::runtime_error("as it was asked to");
        }
    }
    std::array<std::byte, 100> bytes{};
};

template <class T>
class Pool : public testing::Test {
protected:
    using Kept = std::vector<T*>;

    static Kept made(std::size_t count) {
        Kept kept;
        for (std::size_t i = 0; i < count; ++i) {
            kept.push_back(ObjectPool<T>::create(static_cast<unsigned char>(i)));
        }
        return kept;
    }

    static void end(const Kept& kept) {
        for (T* object : kept) {
            ObjectPool<T>::destroy(object);
        }
    }

    static void shuffle(Kept& kept) { std::ranges::shuffle(kept, std::minstd_rand(7)); }

    // All free places that this thread can see.
    static std::size_t free() { return ObjectPool<T>::free_local() + ObjectPool<T>::free_shared(); }

    static constexpr std::size_t batch = ObjectPool<T>::batch_size;
    static constexpr std::size_t limit = ObjectPool<T>::max_per_thread;
    static constexpr std::array counts = {0uz,       1uz,       batch - 1, batch,
                                          batch + 1, limit - 1, limit,     3 * limit + 7};
};

template <class T>
class GoalPool : public Pool<T> {};

using Values = testing::Types<Value<1>, Value<512>, Value<1024>, Value<40, 64>>;
TYPED_TEST_SUITE(Pool, Values);
TYPED_TEST_SUITE(GoalPool, Values);

TYPED_TEST(Pool, ObjectsKeepWhatTheyHold) {
    for (const std::size_t count : this->counts) {
        auto kept = this->made(count);
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_TRUE(kept[i]->holds(static_cast<unsigned char>(i))) << i << " of " << count;
        }
        this->shuffle(kept);
        this->end(kept);
        EXPECT_EQ(TypeParam::alive, 0);
    }
}

TYPED_TEST(Pool, NoTwoObjectsHaveTheSamePlace) {
    auto kept = this->made(2 * this->limit);
    for (int turn = 0; turn < 20; ++turn) {
        this->shuffle(kept);
        const typename TestFixture::Kept half(kept.begin() + kept.size() / 2, kept.end());
        kept.resize(kept.size() / 2);
        this->end(half);
        for (TypeParam* object : this->made(half.size())) {
            kept.push_back(object);
        }
        EXPECT_EQ(std::set(kept.begin(), kept.end()).size(), 2 * this->limit);
    }
    this->end(kept);
}

TYPED_TEST(Pool, ObjectsAreAligned) {
    const auto kept = this->made(this->batch + 1);
    for (const TypeParam* object : kept) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object) % alignof(TypeParam), 0u);
    }
    this->end(kept);
}

TYPED_TEST(Pool, WhoUsesAnEndedObjectIsFoundOut) {
#if __has_feature(address_sanitizer)
    auto kept = this->made(this->limit + 1);
    for (TypeParam* object : kept) {
        EXPECT_FALSE(__asan_region_is_poisoned(object, sizeof(TypeParam)));
    }
    this->end(kept);
    for (TypeParam* object : kept) {
        const auto* bytes = reinterpret_cast<const std::byte*>(object);
        EXPECT_TRUE(__asan_address_is_poisoned(bytes));
        EXPECT_TRUE(__asan_address_is_poisoned(bytes + sizeof(TypeParam) - 1));
    }
#else
    GTEST_SKIP() << "only the address sanitizer could tell";
#endif
}

TYPED_TEST(Pool, AnotherThreadMayEndAnObject) {
    for (const std::size_t count : this->counts) {
        auto kept = this->made(count);
        std::thread([&] { this->end(kept); }).join();
        EXPECT_EQ(TypeParam::alive, 0);
        this->end(this->made(count));
    }
}

// Every thread destroys objects that others made, in random order.
TYPED_TEST(Pool, ThreadsMayEndEachOthersObjects) {
    constexpr std::size_t places = 200, turns = 1000;
    std::array<std::atomic<TypeParam*>, places> shared{};
    const auto swap = [&](unsigned char mark) {
        std::minstd_rand random(mark);
        for (std::size_t turn = 0; turn < turns; ++turn) {
            auto* fresh = ObjectPool<TypeParam>::create(mark);
            EXPECT_TRUE(fresh->holds(mark));
            // The thread that takes it out has to see everything that its maker wrote.
            if (auto* old = shared[random() % places].exchange(fresh, std::memory_order_acq_rel)) {
                EXPECT_TRUE(old->holds(old->bytes[0]));
                ObjectPool<TypeParam>::destroy(old);
            }
        }
    };
    std::vector<std::thread> threads;
    for (unsigned char mark = 1; mark <= 4; ++mark) {
        threads.emplace_back(swap, mark);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const auto& left : shared) {
        if (TypeParam* object = left.load(std::memory_order_relaxed)) {
            ObjectPool<TypeParam>::destroy(object);
        }
    }
    EXPECT_EQ(TypeParam::alive, 0);
}

// Several threads give back whole batches. They do nothing else and don't wait for each other, so
// that only the pool's lock can order their work, whenever they run.
TYPED_TEST(Pool, ThreadsMayEndManyAtOnce) {
    std::array<typename TestFixture::Kept, 4> kept;
    for (auto& each : kept) {
        each = this->made(5 * this->limit);
    }
    std::vector<std::jthread> threads;
    for (const auto& each : kept) {
        threads.emplace_back([&each] { TestFixture::end(each); });
    }
    threads.clear();
    EXPECT_EQ(TypeParam::alive, 0);
    this->end(this->made(20 * this->limit));
}

TEST(Refused, AnObjectThatIsNotMadeThrows) {
    EXPECT_THROW(ObjectPool<Refusing>::create(true), std::runtime_error);
    ObjectPool<Refusing>::destroy(ObjectPool<Refusing>::create(false));
}

TYPED_TEST(GoalPool, AnEndedObjectsPlaceIsTheNextOnes) {
    auto* first = ObjectPool<TypeParam>::create(one);
    ObjectPool<TypeParam>::destroy(first);
    auto* second = ObjectPool<TypeParam>::create(two);
    EXPECT_EQ(first, second);
    ObjectPool<TypeParam>::destroy(second);
}

TYPED_TEST(GoalPool, AThreadKeepsSoManyPlacesAndNoMore) {
    std::size_t seen = 0;
    for (TypeParam* object : this->made(5 * this->limit)) {
        ObjectPool<TypeParam>::destroy(object);
        seen = std::max(seen, ObjectPool<TypeParam>::free_local());
    }
    EXPECT_LE(seen, this->limit);
    EXPECT_GE(seen, this->batch);
}

TYPED_TEST(GoalPool, NoPlaceIsLost) {
    const auto warm = this->made(5 * this->limit);
    this->end(warm);
    const std::size_t before = this->free();
    EXPECT_GE(before, 5 * this->limit);
    for (const std::size_t count : this->counts) {
        auto kept = this->made(count);
        EXPECT_EQ(this->free(), before - count);
        this->shuffle(kept);
        this->end(kept);
        EXPECT_EQ(this->free(), before);
    }
}

TYPED_TEST(GoalPool, PlacesComeAndGoInWholeBatches) {
    this->end(this->made(5 * this->limit));
    std::size_t before = ObjectPool<TypeParam>::free_shared();
    std::size_t changes = 0;
    auto kept = this->made(0);
    for (std::size_t i = 0; i < 4 * this->limit; ++i) {
        kept.push_back(ObjectPool<TypeParam>::create(one));
        const std::size_t now = ObjectPool<TypeParam>::free_shared();
        EXPECT_TRUE(now == before || now + this->batch == before) << now << " after " << before;
        changes += now != before;
        before = now;
    }
    this->end(kept);
    EXPECT_GE(changes, 4 * this->limit / this->batch - 2);
}

// At the border of two batches, repeatedly making and destroying an object must not use the shared
// list.
TYPED_TEST(GoalPool, NoPlaceOfTheListIsACliff) {
    this->end(this->made(3 * this->limit));
    for (std::size_t count = 0; count < this->limit; ++count) {
        auto kept = this->made(count);
        this->end(this->made(2));
        const std::size_t before = ObjectPool<TypeParam>::free_shared();
        for (int turn = 0; turn < 3; ++turn) {
            const auto few = this->made(2);
            EXPECT_EQ(ObjectPool<TypeParam>::free_shared(), before) << count;
            this->end(few);
            EXPECT_EQ(ObjectPool<TypeParam>::free_shared(), before) << count;
        }
        this->end(kept);
    }
}

TYPED_TEST(GoalPool, AThreadThatEndsLeavesWhatItHas) {
    this->end(this->made(this->limit));
    for (const std::size_t count : this->counts) {
        const std::size_t before = this->free();
        auto kept = this->made(count);
        std::size_t left = 0;
        std::thread([&] {
            this->end(kept);
            left = ObjectPool<TypeParam>::free_local();
        }).join();
        EXPECT_LE(left, this->limit);
        EXPECT_GE(this->free(), std::max(before, count));
        EXPECT_LE(this->free(), before + count + this->batch);
    }
}

TYPED_TEST(GoalPool, ThreadsThatComeAndGoNeedNoMore) {
    const auto visit = [&] { std::thread([&] { this->end(this->made(this->batch + 3)); }).join(); };
    visit();
    visit();
    const std::size_t before = this->free();
    for (int turn = 0; turn < 10; ++turn) {
        visit();
    }
    EXPECT_EQ(this->free(), before);
}

TEST(GoalRefused, AnObjectThatIsNotMadeLeavesItsPlace) {
    ObjectPool<Refusing>::destroy(ObjectPool<Refusing>::create(false));
    const std::size_t before = ObjectPool<Refusing>::free_local();
    EXPECT_GT(before, 0u);
    EXPECT_THROW(ObjectPool<Refusing>::create(true), std::runtime_error);
    EXPECT_EQ(ObjectPool<Refusing>::free_local(), before);
}

}  // namespace
