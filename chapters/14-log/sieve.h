#pragma once

#include <utility>

namespace web {

/// What something that SIEVE may throw out has besides.
template <typename Node>
struct SieveLinks {
    Node* newer = nullptr;
    Node* older = nullptr;
    bool visited = false;  // since it came, or since the hand passed: set this on every hit
};

/// Who goes when there is no more room (SIEVE: Zhang and others, NSDI 2024): a queue in the order
/// of arrival, and a hand that moves from the oldest to the newest. It spares once who was asked
/// for again, and throws out the first who was not. A hit moves nothing. Owns none of the nodes,
/// whose base is SieveLinks.
template <typename Node>
class Sieve {
public:
    void add(Node& node) {
        node.older = newest_;
        (newest_ ? newest_->newer : oldest_) = &node;
        newest_ = &node;
    }

    void remove(Node& node) {
        if (hand_ == &node) hand_ = node.newer;
        (node.newer ? node.newer->older : newest_) = node.older;
        (node.older ? node.older->newer : oldest_) = node.newer;
    }

    /// Who is to be removed next. There must be somebody.
    Node& victim() {
        if (!hand_) hand_ = oldest_;
        while (std::exchange(hand_->visited, false))
            hand_ = hand_->newer ? hand_->newer : oldest_;
        return *hand_;
    }

private:
    Node* newest_ = nullptr;
    Node* oldest_ = nullptr;
    Node* hand_ = nullptr;  // null: at the oldest
};

}  // namespace web
