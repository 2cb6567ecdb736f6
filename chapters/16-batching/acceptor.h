#pragma once

#include <chrono>
#include <functional>

#include "fd.h"
#include "handler.h"
#include "log.h"
#include "poller.h"
#include "socket.h"

namespace web {

/// Accepts the clients of one listener. If descriptors or memory run out, it pauses until resume()
/// is called. Belongs to its loop's thread.
class Acceptor {
public:
    /// `add_client` takes each new client. It may throw std::bad_alloc, which pauses accepting.
    using AddClient = std::function<void(Accepted client)>;

    /// Watches the listener. Before it pauses, `handler` is asked to release its caches. A pause is
    /// logged, at most once a second. `poller`, `handler` and `log` must outlive the acceptor.
    Acceptor(Fd listener, Poller& poller, Handler& handler, Log& log, AddClient add_client);

    const Fd& listener() const { return listener_; }

    /// Call this when the listener is ready: accepts a limited number of clients.
    void accept();

    /// Watches the listener again after a pause.
    void resume();

    /// Call this when the poller has failed to watch the listener: counts as a pause.
    void on_watch_failed() { watched_ = false; }

    /// Stops listening for good.
    void close();

private:
    void pause();

    Fd listener_;
    Poller& poller_;
    Handler& handler_;
    Log& log_;
    const AddClient add_client_;
    std::chrono::steady_clock::time_point next_warning_;
    bool watched_ = true;
};

}  // namespace web
