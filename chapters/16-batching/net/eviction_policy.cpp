#include "eviction_policy.h"

#include <algorithm>
#include <functional>

namespace web {

void EvictionPolicy::add_candidate(int fd, TimePoint last_progress) {
    candidates_.push_back({last_progress, fd});
    std::ranges::push_heap(candidates_, std::greater{}, &Candidate::last_progress);
}

std::optional<int> EvictionPolicy::next_victim() {
    if (candidates_.empty()) return std::nullopt;
    std::ranges::pop_heap(candidates_, std::greater{}, &Candidate::last_progress);
    const int fd = candidates_.back().fd;
    candidates_.pop_back();
    return fd;
}

}  // namespace web
