#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace web {

/// Decides which clients lose their connection when buffers run short: those without progress for
/// longest come first. Belongs to one thread.
class EvictionPolicy {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    /// Up to `count` candidates can then be added without an allocation.
    void reserve(std::size_t count) { candidates_.reserve(count); }

    /// Forgets all candidates.
    void clear() { candidates_.clear(); }

    void add_candidate(int fd, TimePoint last_progress);

    /// The descriptor of the next client to drop, which is no longer a candidate. Nothing if there
    /// are no candidates.
    std::optional<int> next_victim();

private:
    struct Candidate {
        TimePoint last_progress;
        int fd;
    };

    std::vector<Candidate> candidates_;  // a heap: the front is the next victim
};

}  // namespace web
