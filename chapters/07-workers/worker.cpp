#include "worker.h"

#include <new>
#include <utility>

namespace web {
namespace {

// How often the loop checks the clock and the stop flag when no client is ready.
constexpr std::chrono::milliseconds tick{200};

// After accepting this many clients in a row, the loop serves the existing ones.
constexpr int accept_batch = 64;

Interest interest_for(IoError error) {
    return error == IoError::wants_send ? Interest::send : Interest::receive;
}

// Receives once, if that is wanted, then sends the output. Running out of memory affects this
// client only: it gets the 503 answer instead.
std::expected<void, IoError> exchange(const Fd& socket, Connection& connection,
                                      Interest wanted) try {
    if (wanted == Interest::receive) {
        const auto got = receive(socket, connection.receive_buffer());
        if (got == 0) {
            connection.end_of_input();
        } else {
            connection.received(got.value_or(0));
        }
        if (!got) return std::unexpected(got.error());
    }
    while (connection.has_output()) {
        const auto took = send(socket, connection.output().bytes);
        if (!took) return std::unexpected(took.error());
        if (!connection.sent(*took)) break;
    }
    return {};
} catch (const std::bad_alloc&) {
    connection.out_of_memory();
    return std::unexpected(IoError::wants_send);
}

// Whether the client can be closed without losing an answer when the server stops.
bool is_answered(const ConnectionState& state) {
    return state.waiting == Waiting::request || state.waiting == Waiting::peer_close;
}

}  // namespace

std::chrono::seconds Limits::timeout_for(Waiting waiting) const {
    switch (waiting) {
        case Waiting::request: return idle;
        case Waiting::head: return head;
        case Waiting::peer_close: return linger;
        default: return progress;
    }
}

Worker::Worker(Fd listener, std::unique_ptr<Handler> handler, const Limits& limits,
               const std::atomic<bool>& stopping)
    : handler_(std::move(handler)),
      limits_(limits),
      stopping_(stopping),
      listener_(std::move(listener)),
      now_(Clock::now()) {
    poller_.add(listener_.number(), Interest::receive);
}

void Worker::run() {
    while (!stopping())
        run_once();
    drain();
}

void Worker::run_once() {
    for (const int fd : poller_.failed())
        on_watch_failed(fd);
    const auto ready = poller_.wait(tick);
    now_ = Clock::now();
    for (const int fd : ready) {
        if (fd == listener_.number()) {
            accept_clients();
        } else if (const auto& client = clients_[static_cast<std::size_t>(fd)]) {
            serve(*client);
        }
    }
    if (now_ >= next_sweep_) close_overdue();
    // Close dropped clients only now: a descriptor closed within the batch could be reused within
    // it.
    if (!closed_.empty()) {
        closed_.clear();
        resume_accepting();
    }
}

// A client is closed again if there is no memory for it. Further clients stay in the queue for now.
void Worker::accept_clients() try {
    for (int i = 0; i < accept_batch; ++i) {
        auto socket = accept_client(listener_);
        if (!socket && socket.error() == AcceptError::gone) continue;
        if (!socket && socket.error() == AcceptError::exhausted) return pause_accepting();
        if (!socket) return;
        const int fd = socket->number();
        const auto index = static_cast<std::size_t>(fd);
        if (index >= clients_.size()) clients_.resize(index + 1);
        closed_.reserve(clients_.capacity());  // dropping a client must not allocate
        clients_[index] =
            std::make_unique<Client>(std::move(*socket), Connection(*handler_, pool_));
        clients_[index]->deadline = now_ + limits_.idle;
        ++client_count_;
        poller_.add(fd, Interest::receive);
    }
} catch (const std::bad_alloc&) {
    pause_accepting();
}

// accept(2): without free descriptors the listener stays ready, and the loop would spin. The
// listener is watched again when a client has disconnected, or at the next sweep.
void Worker::pause_accepting() {
    poller_.remove(listener_.number(), Interest::receive);
    accepting_ = false;
}

void Worker::resume_accepting() {
    if (accepting_ || stopping()) return;
    accepting_ = true;
    poller_.add(listener_.number(), Interest::receive);
}

// A client that isn't watched would wait for ever, so it is dropped. The listener is tried again at
// the next sweep.
void Worker::on_watch_failed(int fd) {
    if (fd == listener_.number()) {
        accepting_ = false;
    } else if (const auto& client = clients_[static_cast<std::size_t>(fd)]) {
        close_client(*client);
    }
}

void Worker::serve(Client& client) {
    const auto exchanged = exchange(client.socket, client.connection, client.state.interest);
    if (!exchanged && exchanged.error() == IoError::failed) return close_client(client);
    const ConnectionState state = client.connection.state();
    if (state.waiting == Waiting::nothing || (stopping() && is_answered(state)))
        return close_client(client);
    if (state != client.state) update_state(client, state);
    watch(client, exchanged ? state.interest : interest_for(exchanged.error()));
}

void Worker::update_state(Client& client, const ConnectionState& state) {
    if (state.waiting == Waiting::peer_close && client.state.waiting != Waiting::peer_close)
        half_close(client.socket);
    client.state = state;
    client.deadline = now_ + limits_.timeout_for(state.waiting);
}

// Calls the poller only when the interest has changed.
void Worker::watch(Client& client, Interest interest) {
    if (std::exchange(client.interest, interest) == interest) return;
    poller_.change(client.socket.number(), interest);
}

void Worker::close_client(Client& client) {
    closed_.push_back(std::move(clients_[static_cast<std::size_t>(client.socket.number())]));
    --client_count_;
}

void Worker::close_overdue() {
    next_sweep_ = now_ + std::chrono::seconds(1);
    for (const auto& client : clients_) {
        if (client && now_ >= client->deadline) close_client(*client);
    }
    resume_accepting();
}

void Worker::drain() {
    poller_.remove(listener_.number(), Interest::receive);
    listener_ = Fd();
    for (const auto& client : clients_) {
        if (!client) continue;
        client->connection.close_after_next();
        if (is_answered(client->state)) close_client(*client);
    }
    poller_.wait(tick.zero());  // to pass on pending changes before the descriptors are closed
    closed_.clear();
    const auto end = Clock::now() + limits_.stop;
    while (client_count_ > 0 && Clock::now() < end)
        run_once();
}

}  // namespace web
