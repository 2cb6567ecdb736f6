#include <gtest/gtest.h>
#include <task.h>  // from the tree that is validated, not the one next to this file

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace {

using web::Link;
using web::List;

struct Plain : Link {
    explicit Plain(int given) : value(given) {}
    int value;
};

struct Other {
    virtual ~Other() = default;
    long filler = 7;
};

// An element whose Link is not at its beginning.
struct Second : Other, Link {
    explicit Second(int given) : value(given) {}
    int value;
};

template <class T>
class Lists : public testing::Test {
protected:
    Lists() {
        for (int value = 0; value < count; ++value) {
            elements_.push_back(std::make_unique<T>(value));
        }
    }

    void fill() {
        for (auto& element : elements_) {
            list_->push_back(*element);
        }
    }

    std::vector<int> values() const {
        std::vector<int> found;
        list_->for_each([&found](T& element) { found.push_back(element.value); });
        return found;
    }

    static constexpr int count = 5;
    std::vector<std::unique_ptr<T>> elements_;
    std::optional<List<T>> list_{std::in_place};
};

template <class T>
class GoalLists : public Lists<T> {};

using Elements = testing::Types<Plain, Second>;
TYPED_TEST_SUITE(Lists, Elements);
TYPED_TEST_SUITE(GoalLists, Elements);

TYPED_TEST(Lists, IsEmptyAtFirst) {
    EXPECT_TRUE(this->list_->is_empty());
    EXPECT_EQ(this->list_->front(), nullptr);
    EXPECT_TRUE(this->values().empty());
}

TYPED_TEST(Lists, KeepsTheOrder) {
    this->fill();
    EXPECT_FALSE(this->list_->is_empty());
    EXPECT_EQ(this->list_->front(), this->elements_[0].get());
    EXPECT_EQ(this->values(), (std::vector{0, 1, 2, 3, 4}));
}

TYPED_TEST(Lists, AnyElementCanBeRemoved) {
    for (std::size_t gone = 0; gone < this->elements_.size(); ++gone) {
        this->fill();
        this->list_->remove(*this->elements_[gone]);
        std::vector<int> rest;
        for (int value = 0; value < this->count; ++value) {
            if (value != static_cast<int>(gone)) {
                rest.push_back(value);
            }
        }
        EXPECT_EQ(this->values(), rest);
        while (auto* element = this->list_->front()) {
            this->list_->remove(*element);
        }
        EXPECT_TRUE(this->list_->is_empty());
    }
}

TYPED_TEST(Lists, ARemovedElementMayComeBack) {
    this->fill();
    for (const std::size_t moved : {0u, 3u, 4u, 4u}) {
        this->list_->remove(*this->elements_[moved]);
        this->list_->push_back(*this->elements_[moved]);
    }
    EXPECT_EQ(this->values(), (std::vector{1, 2, 0, 3, 4}));
}

TYPED_TEST(Lists, AVisitMayRemoveWhatItVisits) {
    this->fill();
    this->list_->for_each([this](TypeParam& element) {
        if (element.value % 2 == 0) {
            this->list_->remove(element);
        }
    });
    EXPECT_EQ(this->values(), (std::vector{1, 3}));
}

TYPED_TEST(Lists, AVisitMayEndWhatItVisits) {
    this->fill();
    this->list_->for_each([this](TypeParam& element) {
        if (element.value != 1) {
            this->list_->remove(element);
            this->elements_[static_cast<std::size_t>(element.value)].reset();
        }
    });
    EXPECT_EQ(this->values(), std::vector{1});
}

TYPED_TEST(Lists, ElementsOutliveTheirList) {
    this->fill();
    this->list_.reset();
    this->list_.emplace();
    this->fill();
    EXPECT_EQ(this->values(), (std::vector{0, 1, 2, 3, 4}));
    this->list_->remove(*this->elements_[2]);
    EXPECT_EQ(this->values(), (std::vector{0, 1, 3, 4}));
    this->list_.reset();
}

TYPED_TEST(Lists, AnElementOfADeadListHasNoNeighbours) {
    this->fill();
    this->list_.reset();
    this->list_.emplace();
    this->list_->push_back(*this->elements_[0]);
    this->elements_[1].reset();
    this->list_->remove(*this->elements_[0]);
    EXPECT_TRUE(this->list_->is_empty());
}

TYPED_TEST(GoalLists, AnElementThatDiesLeavesItsList) {
    this->fill();
    for (const std::size_t gone : {0u, 2u, 4u}) {
        this->elements_[gone].reset();
    }
    EXPECT_EQ(this->values(), (std::vector{1, 3}));
    this->elements_.clear();
    EXPECT_TRUE(this->list_->is_empty());
}

}  // namespace
