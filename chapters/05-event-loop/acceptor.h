// TODO(5.4): declare what the loop needs of its listener. The declarations below are enough for
// part 4.
// TODO(5.5): add resume(), on_watch_failed() and close().
#pragma once

#include <functional>

#include "fd.h"
#include "poller.h"

namespace web {

/// Accepts the clients of one listener. Belongs to its loop's thread.
class Acceptor {
public:
    /// `add_client` takes each new client. It may throw std::bad_alloc.
    using AddClient = std::function<void(Fd client)>;

    /// Watches the listener. `poller` must outlive the acceptor.
    Acceptor(Fd listener, Poller& poller, AddClient add_client);

    const Fd& listener() const { return listener_; }

    /// Call this when the listener is ready: accepts a limited number of clients.
    void accept();

private:
    Fd listener_;
    Poller& poller_;
    const AddClient add_client_;
};

}  // namespace web
