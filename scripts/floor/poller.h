#pragma once

#include <span>

namespace web {

/// The kernel's list of descriptors that are ready, level-triggered; one file per interface.
/// Every call throws std::system_error when it fails.
class Poller {
public:
    enum class Interest { input, output };

    /// From here on SIGINT and SIGTERM end the loop, not the process.
    Poller();

    void add(int descriptor);  ///< Interested in input.
    void change(int descriptor, Interest interest);
    void remove(int descriptor);

    /// Waits; gives the descriptors that are ready, none once a signal asked for the end.
    std::span<const int> wait();

private:
    static constexpr int batch = 256;
    int queue_;
    int ready_[batch];
};

}  // namespace web
