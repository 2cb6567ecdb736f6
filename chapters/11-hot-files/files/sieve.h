// TODO(11.3): the three functions.
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
    void add(Node& node);

    void remove(Node& node);

    /// The node to remove next. There must be at least one.
    Node& victim();

private:
    Node* newest_ = nullptr;
    Node* oldest_ = nullptr;
    Node* hand_ = nullptr;  // null means the oldest
};

}  // namespace web
