#include "worker.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "socket.h"

namespace web {
namespace {

// How often the loop looks at the clock and at the flag that stops it when no client has news.
constexpr std::chrono::milliseconds tick{200};

// After so many the loop goes back to the clients it has.
constexpr int accept_batch = 64;

}  // namespace

Worker::Worker(Fd listener, Handler handler, const std::atomic<bool>& stopping)
    : handler_(handler), stopping_(stopping), listener_(std::move(listener)), now_(Clock::now()) {
    if (!poller_.add(listener_.number(), Interest::receive)) {
        throw std::system_error(errno, std::generic_category(), "watching the listener");
    }
}

void Worker::run() {
    while (!stopping_.load(std::memory_order_relaxed))
        run_once();
    finish_clients();
}

void Worker::run_once() {
    const auto ready = poller_.wait(tick);
    now_ = Clock::now();
    for (const int fd : ready) {
        if (fd == listener_.number()) {
            accept_clients();
        } else if (const auto& client = clients_[static_cast<std::size_t>(fd)]) {
            serve(*client);
        }
    }
    if (now_ >= next_sweep_) drop_overdue();
    // Not before: a descriptor closed within the batch could be reused within the batch.
    if (!dropped_.empty()) {
        dropped_.clear();
        resume_accepting();
    }
}

void Worker::accept_clients() {
    for (int i = 0; i < accept_batch; ++i) {
        auto socket = accept_client(listener_);
        if (!socket && socket.error() == AcceptError::gone) continue;
        if (!socket && socket.error() == AcceptError::exhausted) return pause_accepting();
        if (!socket) return;
        if (!poller_.add(socket->number(), Interest::receive)) continue;
        const auto index = static_cast<std::size_t>(socket->number());
        if (index >= clients_.size()) clients_.resize(index + 1);
        clients_[index] = std::make_unique<Client>(std::move(*socket), Connection(handler_));
        set_deadline(*clients_[index], Connection::Phase::idle);
        ++client_count_;
    }
}

// accept(2): without descriptors the listener stays ready, and the loop would spin. It is watched
// again when a client has gone, or at the next sweep.
void Worker::pause_accepting() {
    poller_.remove(listener_.number(), Interest::receive);
    accepting_ = false;
}

void Worker::resume_accepting() {
    if (accepting_ || stopping_.load(std::memory_order_relaxed)) return;
    accepting_ = poller_.add(listener_.number(), Interest::receive);
}

void Worker::serve(Client& client) {
    const bool receiving = client.interest == Interest::receive;
    if ((receiving && !receive_from(client)) || !send_to(client)) {
        drop(client);
    } else {
        settle(client);
    }
}

bool Worker::receive_from(Client& client) {
    const auto got = receive(client.socket, client.connection.receive_buffer());
    if (!got) return got.error() == IoError::would_block;
    if (*got == 0) {
        client.connection.end_of_input();
    } else {
        client.connection.received(*got);
    }
    return true;
}

bool Worker::send_to(Client& client) {
    for (auto output = client.connection.output(); !output.empty();
         output = client.connection.output()) {
        std::size_t offered = 0;
        for (const iovec& part : output)
            offered += part.iov_len;
        const auto took = send(client.socket, output);
        if (!took) return took.error() == IoError::would_block;
        client.phase = Connection::Phase::sending;  // so that a head after this is a new one
        client.connection.sent(*took);
        if (*took < offered) return true;
    }
    return true;
}

// Waits for what the connection wants next. The kernel is told only when that has changed.
void Worker::settle(Client& client) {
    const Connection::Phase phase = client.connection.phase();
    if (phase == Connection::Phase::done) return drop(client);
    const bool lingers = phase == Connection::Phase::linger;
    if (lingers && client.phase != phase) finish_sending(client.socket);
    const bool answered = lingers || phase == Connection::Phase::idle;
    if (answered && stopping_.load(std::memory_order_relaxed)) return drop(client);
    set_deadline(client, phase);
    const bool sends = phase == Connection::Phase::sending;
    const Interest interest = sends ? Interest::send : Interest::receive;
    if (interest == client.interest) return;
    client.interest = interest;
    if (!poller_.change(client.socket.number(), interest)) drop(client);
}

// Whoever sends a byte now and then cannot stretch a head or the end of a connection.
void Worker::set_deadline(Client& client, Connection::Phase phase) {
    using enum Connection::Phase;
    const bool same = std::exchange(client.phase, phase) == phase;
    if (same && (phase == head || phase == linger)) return;
    switch (phase) {
        case idle: client.deadline = now_ + idle_limit; break;
        case head: client.deadline = now_ + head_limit; break;
        case linger: client.deadline = now_ + linger_limit; break;
        default: client.deadline = now_ + progress_limit; break;
    }
}

void Worker::drop(Client& client) {
    dropped_.push_back(std::move(clients_[static_cast<std::size_t>(client.socket.number())]));
    --client_count_;
}

void Worker::drop_overdue() {
    next_sweep_ = now_ + std::chrono::seconds(1);
    for (const auto& client : clients_) {
        if (client && now_ >= client->deadline) drop(*client);
    }
    resume_accepting();
}

void Worker::finish_clients() {
    poller_.remove(listener_.number(), Interest::receive);
    listener_ = Fd();
    for (const auto& client : clients_) {
        if (!client) continue;
        client->connection.finish();
        const Connection::Phase phase = client->phase;
        if (phase == Connection::Phase::idle || phase == Connection::Phase::linger) drop(*client);
    }
    dropped_.clear();
    const auto end = Clock::now() + stop_limit;
    while (client_count_ > 0 && Clock::now() < end)
        run_once();
}

}  // namespace web
