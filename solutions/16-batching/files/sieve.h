#pragma once

#include <utility>

namespace web {

/// The base of nodes that SIEVE manages.
template <typename Node>
struct SieveLinks {
    Node* newer = nullptr;
    Node* older = nullptr;
    bool visited = false;  // since it was added or the hand passed; set it on every hit
};

/// Chooses the node to evict when there is no more space (SIEVE: Zhang and others, NSDI 2024): a
/// queue in order of arrival, and a hand that moves from the oldest node to the newest. The hand
/// spares a node once if it was requested again, and evicts the first that was not. A hit moves
/// nothing. Does not own the nodes, which derive from SieveLinks.
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

    /// The node to remove next. There must be at least one.
    Node& victim() {
        if (!hand_) hand_ = oldest_;
        while (std::exchange(hand_->visited, false))
            hand_ = hand_->newer ? hand_->newer : oldest_;
        return *hand_;
    }

private:
    Node* newest_ = nullptr;
    Node* oldest_ = nullptr;
    Node* hand_ = nullptr;  // null means the oldest
};

}  // namespace web
