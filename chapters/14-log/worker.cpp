#include "worker.h"

#include <algorithm>
#include <new>
#include <utility>

#include "allocator.h"

namespace web {
namespace {

// How often the loop checks the clock and the stop flag when no client is ready.
constexpr std::chrono::milliseconds tick{200};

// After accepting this many clients in a row, the loop serves the existing ones.
constexpr int accept_batch = 64;

// The maximum number of bytes of a file in one call, so that other clients are served in between.
constexpr std::size_t file_piece = 1024 * 1024;

std::expected<std::size_t, IoError> send(const Fd& socket, const Output& output) {
    return output.file ? send(socket, output.bytes, *output.file, file_piece)
                       : send(socket, output.bytes);
}

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
        const auto took = send(socket, connection.output());
        if (!took) return std::unexpected(took.error());
        if (!connection.sent(*took)) break;
    }
    return {};
} catch (const std::bad_alloc&) {
    connection.out_of_memory();
    return std::unexpected(IoError::wants_send);
}

// The current thread's handler, asked to free memory when it runs out.
thread_local Handler* cache_owner = nullptr;

// operator new calls this before it throws, and tries again when it returns.
void release_memory() {
    if (!cache_owner || !cache_owner->release_caches()) throw std::bad_alloc();
    purge_free_memory();
}

// Three calls in all, with accept(2) and close(2), and nothing is kept. A client that has already
// sent something may see a reset after the answer.
void reject(const Fd& socket) {
    constexpr std::string_view text = service_unavailable;
    const iovec answer{const_cast<char*>(text.data()), text.size()};
    static_cast<void>(send(socket, {&answer, 1}));
}

// Answers to pipelined requests count as one transfer, however many are appended.
bool is_same_transfer(const ConnectionState& before, const ConnectionState& now) {
    if (now.waiting == Waiting::request || now.waiting != before.waiting) return false;
    return now.waiting == Waiting::writable ||
           (now.waiting == Waiting::body && now.bodies == before.bodies);
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

std::uint64_t Limits::min_progress() const {
    return std::uint64_t{rate} * static_cast<std::uint64_t>(progress.count());
}

Worker::Worker(Fd listener, std::unique_ptr<Handler> handler, const Limits& limits,
               std::size_t buffers, ConnectionLimiter& limiter, const std::atomic<bool>& stopping)
    : handler_(std::move(handler)),
      limits_(limits),
      stopping_(stopping),
      limiter_(limiter),
      listener_(std::move(listener)),
      pool_(buffers),
      now_(Clock::now()) {
    poller_.add(listener_.number(), Interest::receive);
}

void Worker::run() {
    cache_owner = handler_.get();
    std::set_new_handler(release_memory);
    while (!stopping())
        run_once();
    drain();
}

// TODO(14): write when there is enough, and once a second; and write the lines that are left at the
// end.
void Worker::run_once() {
    for (const int fd : poller_.failed())
        on_watch_failed(fd);
    const auto ready = poller_.wait(tick);
    now_ = Clock::now();
    if (now_ >= next_date_) update_date();
    for (const int fd : ready) {
        if (fd == listener_.number()) {
            accept_clients();
        } else if (const auto& client = clients_[static_cast<std::size_t>(fd)]) {
            serve(*client);
        }
        if (pool_.is_nearly_exhausted()) evict_stalled();
    }
    if (now_ >= next_sweep_) {
        close_overdue();
        purge_free_memory();
    }
    // Close dropped clients only now: a descriptor closed within the batch could be reused within
    // it.
    if (!closed_.empty()) {
        closed_.clear();
        resume_accepting();
    }
}

// The time of day is read once a second. In between, the loop's own clock shows when the next
// update is due.
void Worker::update_date() {
    using namespace std::chrono;
    const auto time = system_clock::now();
    const auto second = floor<seconds>(time);
    common_headers_.set_date(second);
    handler_->on_new_second(second);
    next_date_ = now_ + duration_cast<Clock::duration>(second + seconds(1) - time);
}

// A client is closed again if there is no memory for it. Further clients stay in the queue for now.
void Worker::accept_clients() try {
    for (int i = 0; i < accept_batch; ++i) {
        auto accepted = accept_client(listener_);
        if (!accepted && accepted.error() == AcceptError::gone) continue;
        if (!accepted && accepted.error() == AcceptError::exhausted) {
            if (handler_->release_caches()) continue;
            return pause_accepting();
        }
        if (!accepted) return;
        add_client(std::move(*accepted));
    }
} catch (const std::bad_alloc&) {
    pause_accepting();
}

// TODO(14): a client has its log from the moment it connects.
void Worker::add_client(Accepted accepted) {
    auto slot = limiter_.admit(accepted.address);
    if (!slot) return reject(accepted.socket);
    const int fd = accepted.socket.number();
    const auto index = static_cast<std::size_t>(fd);
    if (index >= clients_.size()) clients_.resize(index + 1);
    closed_.reserve(clients_.capacity());  // dropping a client must not allocate
    eviction_candidates_.reserve(clients_.capacity());
    clients_[index] = std::make_unique<Client>(std::move(*slot), std::move(accepted.socket),
                                               Connection(*handler_, pool_, common_headers_));
    clients_[index]->deadline = now_ + limits_.idle;
    ++client_count_;
    poller_.add(fd, Interest::receive);
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
    const ConnectionState before = std::exchange(client.state, state);
    if (is_same_transfer(before, state) && state.moved - before.moved < limits_.min_progress()) {
        client.state.moved = before.moved;  // so that bytes accumulate until they are enough
        return;
    }
    client.deadline = now_ + limits_.timeout_for(state.waiting);
}

// Calls the poller only when the interest has changed.
void Worker::watch(Client& client, Interest interest) {
    if (std::exchange(client.interest, interest) == interest) return;
    poller_.change(client.socket.number(), interest);
}

// Its buffers are available to others at once.
// TODO(14): perhaps in the middle of a request, whose head is still in its buffer.
void Worker::close_client(Client& client) {
    client.connection.release_buffers();
    closed_.push_back(std::move(clients_[static_cast<std::size_t>(client.socket.number())]));
    --client_count_;
}

// Drops the clients that hold buffers and have made no progress for longest, before the pool is
// empty.
void Worker::evict_stalled() {
    eviction_candidates_.clear();
    for (const auto& client : clients_) {
        if (client && client->connection.holds_buffers())
            eviction_candidates_.push_back(client.get());
    }
    std::ranges::sort(eviction_candidates_, {}, [this](const Client* client) {
        return client->deadline - limits_.timeout_for(client->state.waiting);
    });
    for (Client* const client : eviction_candidates_) {
        if (pool_.has_recovered()) return;
        close_client(*client);
    }
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
