// TODO(5.4): the event loop, and every decision about clients: how long to wait for which client,
// and when to close. It owns the acceptor, the poller and the clients.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "acceptor.h"
#include "connection.h"
#include "fd.h"
#include "handler.h"
#include "poller.h"

namespace web {

class Worker {
public:
    /// Throws std::system_error. `stopping` must outlive the worker.
    // TODO(5.5): the constructor also takes const Timeouts&: how long to wait for what. A WakeEvent
    // that the poller watches takes the place of `stopping`, so that an idle loop can sleep.
    Worker(Fd listener, std::unique_ptr<Handler> handler, const std::atomic<bool>& stopping);

    const Fd& listener() const { return acceptor_.listener(); }

    /// Returns when `stopping` is set and the clients being answered have their answers.
    void run();

private:
    /// A socket, its state machine, what it wanted last, and what the poller waits for. Define it
    /// here, in the header: a worker's destructor destroys its clients, so the type must be
    /// complete.
    struct Client {};

    std::unique_ptr<Handler> handler_;
    const std::atomic<bool>& stopping_;
    Poller poller_;
    Acceptor acceptor_;
    std::vector<std::unique_ptr<Client>> clients_;  // indexed by descriptor
};

}  // namespace web
