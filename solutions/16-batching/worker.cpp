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

Interest interest_for(IoError error) {
    return error == IoError::needs_send ? Interest::send : Interest::receive;
}

// The current thread's handler, whose caches release_memory() frees.
thread_local Handler* cache_owner = nullptr;

// operator new calls this when memory runs out, and tries again once it has returned.
void release_memory() {
    if (!cache_owner || !cache_owner->release_caches()) throw std::bad_alloc();
    purge_free_memory();
}

// A rejected client costs three system calls (accept, send, close) and no memory. A client that has
// already sent something may see a reset after the answer.
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

std::chrono::seconds Timeouts::timeout_for(Waiting waiting) const {
    switch (waiting) {
        case Waiting::request: return idle;
        case Waiting::head: return head;
        case Waiting::peer_close: return linger;
        default: return progress;
    }
}

std::uint64_t Timeouts::min_progress() const {
    return std::uint64_t{min_rate} * static_cast<std::uint64_t>(progress.count());
}

Worker::Worker(Fd listener, std::unique_ptr<Handler> handler, std::unique_ptr<SendRing> ring,
               const Timeouts& timeouts, std::size_t buffers, ConnectionLimiter& limiter, Tls& tls,
               Log& log, const WakeEvent& reload, const WakeEvent& stop)
    : handler_(std::move(handler)),
      timeouts_(timeouts),
      log_(log),
      access_log_(log.has_access_log() ? std::make_unique<AccessLog>(log) : nullptr),
      reload_(reload),
      stop_(stop),
      limiter_(limiter),
      tls_(tls),
      acceptor_(std::move(listener), poller_, *handler_, log,
                [this](Accepted accepted) { add_client(std::move(accepted)); }),
      pool_(buffers),
      stream_context_(tls, pool_),
      ring_(std::move(ring)),
      now_(Clock::now()),
      last_sweep_(now_),
      next_deadline_(Clock::time_point::max()) {
    // on_ready() looks up every descriptor, so the loop's own ones get empty places.
    clients_.resize(static_cast<std::size_t>(
                        std::max({acceptor_.listener().number(), reload_.fd(), stop_.fd()})) +
                    1);
    poller_.add(reload_.fd(), Interest::receive);
    poller_.add(stop_.fd(), Interest::receive);
    batch_.reserve(SendRing::capacity);
}

void Worker::run() {
    cache_owner = handler_.get();
    std::set_new_handler(release_memory);
    while (!stopping_)
        run_once();
    drain();
    if (access_log_) flush_log();
}

void Worker::run_once() {
    const auto ready = poller_.wait(before_wait());
    after_wait(ready.empty());
    for (const int fd : ready)
        on_ready(fd);
    send_batch();
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
    stream_context_.allow_handshakes();
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
    handler_->on_new_second(second);
    if (access_log_) access_log_->on_new_second(second);
    next_date_ = now_ + duration_cast<Clock::duration>(second + seconds(1) - time);
}

void Worker::on_ready(int fd) {
    if (const auto& client = clients_[static_cast<std::size_t>(fd)]) [[likely]] {
        serve(*client);
    } else if (fd == acceptor_.listener().number()) {
        acceptor_.accept();
    } else if (fd == stop_.fd()) {
        stopping_ = true;
    } else if (fd == reload_.fd()) {
        if (reload_.clear()) reload();
    }
    // Answers in the batch hold buffers, and a buffer may not be released while its bytes wait
    // there.
    if (pool_.is_nearly_exhausted()) send_batch();
    if (pool_.is_nearly_exhausted()) evict_stalled();
    if (access_log_ && access_log_->is_due(now_)) [[unlikely]]
        access_log_->write(now_);
}

void Worker::reload() {
    log_.reopen();
    tls_.reload(log_);
}

// Closes the clients that are overdue, and finds the earliest deadline of the others.
void Worker::on_deadline() {
    last_sweep_ = now_;
    next_deadline_ = Clock::time_point::max();
    for (const auto& client : clients_) {
        if (!client) continue;
        client->stream.release_idle_buffers();
        if (now_ >= client->deadline) {
            drop_client(*client);
        } else {
            next_deadline_ = std::min(next_deadline_, client->deadline);
        }
    }
    acceptor_.resume();
    if (access_log_) access_log_->write(now_);
    const bool lines_left = access_log_ && access_log_->has_lines();
    if (lines_left || handler_->needs_next_second())
        next_deadline_ = std::min(next_deadline_, now_ + sweep_interval);
    purge_free_memory();
}

// Clients are closed only after the batch: within it, a closed descriptor's number could be reused.
void Worker::close_dropped() {
    dropped_.clear();
    acceptor_.resume();
}

// A client that isn't watched would wait for ever, so it is dropped. The listener is tried again at
// the next sweep. The stop and reload events are added only once, at the start, and the loop can't
// run without them.
void Worker::on_watch_failed(int fd) {
    if (fd == stop_.fd() || fd == reload_.fd())
        throw std::system_error(ENOMEM, std::generic_category(), "watch");
    next_deadline_ = std::min(next_deadline_, last_sweep_ + sweep_interval);
    if (fd == acceptor_.listener().number()) {
        acceptor_.on_watch_failed();
    } else if (const auto& client = clients_[static_cast<std::size_t>(fd)]) {
        drop_client(*client);
    }
}

void Worker::add_client(Accepted accepted) {
    auto slot = limiter_.admit(accepted.address);
    if (!slot) {
        // The 503 is plain text, which a TLS client can't read, so over TLS none is sent.
        const Status status = stream_context_.has_tls() ? Status() : Status::service_unavailable;
        if (access_log_) access_log_->rejected(accepted.address, status);
        if (!stream_context_.has_tls()) reject(accepted.socket);
        return;
    }
    const int fd = accepted.socket.number();
    const auto index = static_cast<std::size_t>(fd);
    if (index >= clients_.size()) clients_.resize(index + 1);
    dropped_.reserve(clients_.capacity());  // dropping a client must not allocate
    eviction_policy_.reserve(clients_.capacity());
    auto log = access_log_ ? access_log_->of_client(accepted.address) : nullptr;
    const Scheme scheme = stream_context_.has_tls() ? Scheme::https : Scheme::http;
    clients_[index] = std::make_unique<Client>(
        std::move(*slot), ClientStream(std::move(accepted.socket), stream_context_),
        Connection(*handler_, pool_, common_headers_, std::move(log), scheme));
    if (stream_context_.has_tls())
        clients_[index]->state.waiting = Waiting::head;  // the handshake comes first
    clients_[index]->deadline = now_ + timeouts_.timeout_for(clients_[index]->state.waiting);
    ++client_count_;
    poller_.add(fd, Interest::receive);
}

// What can't join the batch may take long to send, a file for example, so the batch goes first.
void Worker::serve(Client& client) {
    const auto received = receive(client);
    if (received && add_to_batch(client)) {
        if (batch_.size() == SendRing::capacity) send_batch();
        return;
    }
    if (client.connection.has_output()) send_batch();
    after_exchange(client, received ? send(client) : received);
}

// Receives once, if that is wanted. Running out of memory affects this client only: it gets the 503
// answer instead.
std::expected<void, IoError> Worker::receive(Client& client) try {
    Connection& connection = client.connection;
    if (client.state.interest != Interest::receive) return {};
    const auto got = client.stream.receive(connection.receive_buffer());
    if (!got) {
        connection.received_nothing();
        return std::unexpected(got.error());
    }
    if (*got == 0) {
        connection.end_of_input();
    } else {
        connection.received(*got);
    }
    return {};
} catch (const std::bad_alloc&) {
    client.connection.out_of_memory();
    return std::unexpected(IoError::needs_send);
}

std::expected<void, IoError> Worker::send(Client& client) try {
    Connection& connection = client.connection;
    while (connection.has_output()) {
        const auto took = client.stream.send(connection.output());
        if (!took) return std::unexpected(took.error());
        if (!connection.sent(*took)) break;
    }
    return {};
} catch (const std::bad_alloc&) {
    client.connection.out_of_memory();
    return std::unexpected(IoError::needs_send);
}

// Tells the connection how much of its output the batch has sent. Answers to requests that waited
// for this are sent at once.
std::expected<void, IoError> Worker::sent(Client& client, std::size_t count) try {
    if (!client.connection.sent(count)) return {};
    return send(client);
} catch (const std::bad_alloc&) {
    client.connection.out_of_memory();
    return std::unexpected(IoError::needs_send);
}

// Returns whether the client's output may wait for that of others. Until it is sent, nothing else
// may be done with the connection. A client whose socket was full isn't added, so that send(2)
// decides what becomes of it.
bool Worker::add_to_batch(Client& client) {
    if (!ring_ || client.stream.is_encrypted() || client.state.interest != Interest::receive ||
        !client.connection.has_output())
        return false;
    const Output output = client.connection.output();
    if (output.file || output.bytes.size() != 1) return false;
    const iovec& bytes = output.bytes.front();
    batch_.push_back({client.stream.fd(), {static_cast<char*>(bytes.iov_base), bytes.iov_len}});
    return true;
}

// The ring saves nothing for a single answer, so that has a call of its own.
void Worker::send_batch() {
    const bool together = batch_.size() > 1;
    if (const int error = together ? ring_->send(batch_) : 0; error != 0) {
        log_.write(LogLevel::warn, "answers are no longer sent together: io_uring_enter: " +
                                       std::generic_category().message(error));
        ring_.reset();
    }
    for (const Send& answer : batch_) {
        Client& client = *clients_[static_cast<std::size_t>(answer.fd)];
        if (!together) {
            after_exchange(client, send(client));
        } else if (answer.sent > 0) {
            after_exchange(client, sent(client, answer.sent));
        } else {
            after_exchange(client, std::unexpected(IoError::needs_send));
        }
    }
    batch_.clear();
}

// Over TLS, close_notify may arrive together with the last bytes, so it is checked after these were
// processed. And encrypted records may be unsent even if the connection has no output.
void Worker::after_exchange(Client& client, std::expected<void, IoError> exchanged) {
    if (!exchanged && exchanged.error() == IoError::failed) return drop_client(client);
    const ConnectionState state = client.connection.state();
    if (state.waiting == Waiting::nothing || (stopping_ && is_answered(state)))
        return drop_client(client);
    if (state != client.state && (exchanged || client.stream.is_open()))
        update_state(client, state);
    Interest next = exchanged ? state.interest : interest_for(exchanged.error());
    if (client.stream.is_encrypted()) [[unlikely]] {
        if (client.stream.has_ended() && !client.connection.has_output())
            return drop_client(client);
        if (client.stream.has_unsent()) next = Interest::send;
    }
    watch(client, next);
}

void Worker::update_state(Client& client, const ConnectionState& state) {
    if (state.waiting == Waiting::peer_close && client.state.waiting != Waiting::peer_close)
        finish_sending(client);
    const ConnectionState before = std::exchange(client.state, state);
    if (is_same_transfer(before, state) && state.moved - before.moved < timeouts_.min_progress()) {
        client.state.moved = before.moved;  // so that bytes accumulate until they are enough
        return;
    }
    client.deadline = now_ + timeouts_.timeout_for(state.waiting);
}

void Worker::finish_sending(Client& client) {
    send_close_notify(client);
    client.stream.finish_sending();
}

// RFC 8446 §6.1: only a client that has all of its answers gets close_notify. Its absence tells
// others that an answer was cut off.
void Worker::send_close_notify(Client& client) {
    const Connection& connection = client.connection;
    const bool whole = !connection.has_output() && !connection.response_incomplete();
    if (whole) client.stream.send_close_notify();
}

// Calls the poller only when the interest has changed.
void Worker::watch(Client& client, Interest interest) {
    if (std::exchange(client.interest, interest) == interest) return;
    poller_.change(client.stream.fd(), interest);
}

// Others may reuse its buffers as soon as they are released, so what is in them is logged first.
void Worker::drop_client(Client& client) {
    client.connection.abort();
    send_close_notify(client);
    client.connection.release_buffers();
    client.stream.release_buffers();
    dropped_.push_back(std::move(clients_[static_cast<std::size_t>(client.stream.fd())]));
    --client_count_;
}

// Drops stalled clients that hold buffers, before the pool is empty.
void Worker::evict_stalled() {
    eviction_policy_.clear();
    for (const auto& client : clients_) {
        if (!client) continue;
        if (!client->stream.has_unsent() && !client->connection.holds_buffers()) continue;
        const auto last_progress = client->deadline - timeouts_.timeout_for(client->state.waiting);
        eviction_policy_.add_candidate(client->stream.fd(), last_progress);
    }
    while (!pool_.has_recovered()) {
        const auto victim = eviction_policy_.next_victim();
        if (!victim) return;
        drop_client(*clients_[static_cast<std::size_t>(*victim)]);
    }
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

// The remaining clients get no answer, so they are closed and their requests logged as cut off.
void Worker::flush_log() {
    for (const auto& client : clients_) {
        if (client) drop_client(*client);
    }
    access_log_->end();
}

}  // namespace web
