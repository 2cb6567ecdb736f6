#include "worker.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "allocator.h"

namespace web {
namespace {

// While clients are active, deadlines are checked this often: what a client does may bring its
// deadline forward.
constexpr std::chrono::seconds sweep_interval{1};

// The maximum number of bytes of a file in one call, so that other clients are served in between.
constexpr std::size_t file_piece = 1024 * 1024;

std::expected<std::size_t, IoError> send(const Fd& socket, const Output& output) {
    return output.file ? send(socket, output.bytes, *output.file, file_piece)
                       : send(socket, output.bytes);
}

Interest interest_for(IoError error) {
    return error == IoError::needs_send ? Interest::send : Interest::receive;
}

// Receives once, if that is wanted, then sends the output. Running out of memory affects this
// client only: it gets the 503 answer instead.
std::expected<void, IoError> receive_and_send(const Fd& socket, Connection& connection,
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
    return std::unexpected(IoError::needs_send);
}

// Whether the client can be closed without losing an answer when the server stops.
bool is_answered(const ConnectionState& state) {
    return state.waiting == Waiting::request || state.waiting == Waiting::peer_close;
}

}  // namespace

std::chrono::seconds Timeouts::timeout_for(Waiting waiting) const {
    switch (waiting) {
        case Waiting::request: return idle;
        case Waiting::head: return head;
        case Waiting::peer_close: return linger;
        default: return progress;
    }
}

Worker::Worker(Fd listener, std::unique_ptr<Handler> handler, const Timeouts& timeouts,
               const WakeEvent& stop)
    : handler_(std::move(handler)),
      timeouts_(timeouts),
      stop_(stop),
      acceptor_(std::move(listener), poller_, [this](Fd socket) { add_client(std::move(socket)); }),
      now_(Clock::now()),
      last_sweep_(now_),
      next_deadline_(Clock::time_point::max()) {
    // on_ready() looks up every descriptor, so the loop's own ones get empty places.
    clients_.resize(static_cast<std::size_t>(std::max(acceptor_.listener().number(), stop_.fd())) +
                    1);
    poller_.add(stop_.fd(), Interest::receive);
}

// TODO(11.4): std::set_new_handler(3): before operator new throws, call this thread's handler's
// release_caches().
void Worker::run() {
    while (!stopping_)
        run_once();
    drain();
}

void Worker::run_once() {
    const auto ready = poller_.wait(before_wait());
    after_wait(ready.empty());
    for (const int fd : ready)
        on_ready(fd);
    if (now_ >= next_deadline_) on_deadline();
    if (!dropped_.empty()) close_dropped();
}

// Returns how long the loop may sleep: until the next deadline, or for ever if there is none. While
// clients are active, a sweep is due within a second anyway.
std::chrono::milliseconds Worker::before_wait() {
    using std::chrono::milliseconds;
    for (const int fd : poller_.failed())
        on_watch_failed(fd);
    if (busy_) return sweep_interval;
    const auto next = std::min(next_deadline_, drain_end_);
    if (next == Clock::time_point::max()) return Poller::forever;
    return std::max(std::chrono::ceil<milliseconds>(next - now_), milliseconds(0));
}

void Worker::after_wait(bool is_idle) {
    now_ = Clock::now();
    busy_ = !is_idle && !stopping_;
    if (now_ >= next_date_) update_date();
    if (!is_idle) next_deadline_ = std::min(next_deadline_, last_sweep_ + sweep_interval);
}

// The time of day is read once a second. In between, the loop's own clock shows when the next
// update is due.
void Worker::update_date() {
    using namespace std::chrono;
    const auto time = system_clock::now();
    const auto second = floor<seconds>(time);
    common_headers_.set_date(second);
    // TODO(11.1): also call the handler's on_new_second().
    next_date_ = now_ + duration_cast<Clock::duration>(second + seconds(1) - time);
}

void Worker::on_ready(int fd) {
    if (const auto& client = clients_[static_cast<std::size_t>(fd)]) [[likely]] {
        serve(*client);
    } else if (fd == acceptor_.listener().number()) {
        acceptor_.accept();
    } else if (fd == stop_.fd()) {
        stopping_ = true;
    }
}

// Closes the clients that are overdue, and finds the earliest deadline of the others.
void Worker::on_deadline() {
    last_sweep_ = now_;
    next_deadline_ = Clock::time_point::max();
    for (const auto& client : clients_) {
        if (!client) continue;
        if (now_ >= client->deadline) {
            drop_client(*client);
        } else {
            next_deadline_ = std::min(next_deadline_, client->deadline);
        }
    }
    acceptor_.resume();
    // TODO(11.4): wake up within a second if the handler needs it.
    purge_free_memory();
}

// Clients are closed only after the batch: within it, a closed descriptor's number could be reused.
void Worker::close_dropped() {
    dropped_.clear();
    acceptor_.resume();
}

// A client that isn't watched would wait for ever, so it is dropped. The listener is tried again at
// the next sweep. The stop event is added only once, at the start, and the loop can't run without
// it.
void Worker::on_watch_failed(int fd) {
    if (fd == stop_.fd()) throw std::system_error(ENOMEM, std::generic_category(), "watch");
    next_deadline_ = std::min(next_deadline_, last_sweep_ + sweep_interval);
    if (fd == acceptor_.listener().number()) {
        acceptor_.on_watch_failed();
    } else if (const auto& client = clients_[static_cast<std::size_t>(fd)]) {
        drop_client(*client);
    }
}

void Worker::add_client(Fd socket) {
    const int fd = socket.number();
    const auto index = static_cast<std::size_t>(fd);
    if (index >= clients_.size()) clients_.resize(index + 1);
    dropped_.reserve(clients_.capacity());  // dropping a client must not allocate
    clients_[index] =
        std::make_unique<Client>(std::move(socket), Connection(*handler_, pool_, common_headers_));
    clients_[index]->deadline = now_ + timeouts_.idle;
    ++client_count_;
    poller_.add(fd, Interest::receive);
}

void Worker::serve(Client& client) {
    const auto exchanged =
        receive_and_send(client.socket, client.connection, client.state.interest);
    if (!exchanged && exchanged.error() == IoError::failed) return drop_client(client);
    const ConnectionState state = client.connection.state();
    if (state.waiting == Waiting::nothing || (stopping_ && is_answered(state)))
        return drop_client(client);
    if (state != client.state) update_state(client, state);
    watch(client, exchanged ? state.interest : interest_for(exchanged.error()));
}

void Worker::update_state(Client& client, const ConnectionState& state) {
    if (state.waiting == Waiting::peer_close && client.state.waiting != Waiting::peer_close)
        half_close(client.socket);
    client.state = state;
    client.deadline = now_ + timeouts_.timeout_for(state.waiting);
}

// Calls the poller only when the interest has changed.
void Worker::watch(Client& client, Interest interest) {
    if (std::exchange(client.interest, interest) == interest) return;
    poller_.change(client.socket.number(), interest);
}

void Worker::drop_client(Client& client) {
    dropped_.push_back(std::move(clients_[static_cast<std::size_t>(client.socket.number())]));
    --client_count_;
}

void Worker::drain() {
    acceptor_.close();
    poller_.remove(stop_.fd(), Interest::receive);
    for (const auto& client : clients_) {
        if (!client) continue;
        client->connection.close_after_next();
        if (is_answered(client->state)) drop_client(*client);
    }
    // Passes on pending changes before the descriptors are closed.
    poller_.wait(std::chrono::milliseconds(0));
    dropped_.clear();
    drain_end_ = Clock::now() + timeouts_.stop;
    while (client_count_ > 0 && now_ < drain_end_)
        run_once();
}

}  // namespace web
