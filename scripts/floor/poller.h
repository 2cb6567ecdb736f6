#pragma once

#include <span>

namespace web {

/// The kernel's list of ready descriptors, level-triggered; one source file per interface. Every
/// function throws std::system_error on failure.
class Poller {
public:
    enum class Interest { input, output };

    /// From here on SIGINT and SIGTERM end the loop, not the process.
    Poller();

    void add(int descriptor);  ///< Interested in input.
    void change(int descriptor, Interest interest);
    void remove(int descriptor);

    /// Waits and returns the ready descriptors; returns none once a signal has asked for the end.
    std::span<const int> wait();

private:
    static constexpr int batch = 256;
    int queue_;
    int ready_[batch];
};

}  // namespace web
