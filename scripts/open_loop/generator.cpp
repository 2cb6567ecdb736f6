#include "generator.h"

#include <sys/select.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace open_loop {
namespace {

using namespace std::chrono_literals;

timeval timeval_of(std::chrono::microseconds time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    return {.tv_sec = seconds.count(),
            .tv_usec = static_cast<decltype(timeval::tv_usec)>((time - seconds).count())};
}

const char* name_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::answered: return "answered";
        case Outcome::wrong_status: return "status";
        case Outcome::failed: return "failed";
    }
    return "";
}

}  // namespace

Generator::Generator(const Address& server, std::string request, const Plan& plan)
    : server_(server),
      request_(std::move(request)),
      plan_(plan),
      planned_(static_cast<std::size_t>(plan.rate * static_cast<double>(plan.duration.count()))),
      clients_(plan.connections),
      current_(plan.connections) {
    requests_.reserve(planned_);
}

void Generator::run() {
    start_ = Clock::now();
    for (auto now = start_; !finished(now); now = Clock::now()) {
        make_due(now);
        send_waiting();
        wait(Clock::now());
    }
}

bool Generator::finished(Clock::time_point now) const {
    if (now > start_ + plan_.duration + plan_.grace) return true;
    return requests_.size() == planned_ && waiting_.empty() && in_flight_ == 0;
}

void Generator::make_due(Clock::time_point now) {
    const std::chrono::duration<double> period(1 / plan_.rate);
    while (requests_.size() < planned_) {
        const auto offset = period * static_cast<double>(requests_.size());
        const auto due = start_ + std::chrono::duration_cast<Clock::duration>(offset);
        if (due > now) return;
        const bool busy = in_flight_ + waiting_.size() >= clients_.size();
        waiting_.push_back(requests_.size());
        requests_.push_back({due, busy});
    }
}

void Generator::send_waiting() {
    while (!waiting_.empty()) {
        const auto client = free_client();
        if (!client) return;
        const std::size_t request = waiting_.front();
        waiting_.pop_front();
        requests_[request].sent = Clock::now();
        current_[*client] = request;
        ++in_flight_;
        clients_[*client].begin(server_, request_);
        if (clients_[*client].state() == Client::State::sending) proceed(*client);
    }
}

/// One whose connection is open if there is one, so that no more are opened than are needed.
std::optional<std::size_t> Generator::free_client() {
    for (const auto state : {Client::State::idle, Client::State::closed}) {
        const auto found = std::ranges::find(clients_, state, &Client::state);
        if (found != clients_.end()) return static_cast<std::size_t>(found - clients_.begin());
    }
    return std::nullopt;
}

/// Until the next request is due or a socket is ready. select(2) is slow, but it is everywhere and
/// counts in microseconds.
void Generator::wait(Clock::time_point now) {
    fd_set input{};
    fd_set output{};
    int last = -1;
    for (const Client& client : clients_) {
        if (client.socket() < 0) continue;
        FD_SET(client.socket(), client.waits_to_send() ? &output : &input);
        last = std::max(last, client.socket());
    }
    const auto time = std::chrono::ceil<std::chrono::microseconds>(until_next_due(now));
    timeval timeout = timeval_of(time);
    const int ready = ::select(last + 1, &input, &output, nullptr, &timeout);
    if (ready < 0 && errno != EINTR) {
        throw std::system_error(errno, std::generic_category(), "select");
    }
    if (ready <= 0) return;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        const int socket = clients_[i].socket();
        if (socket >= 0 && (FD_ISSET(socket, &input) || FD_ISSET(socket, &output))) proceed(i);
    }
}

void Generator::proceed(std::size_t client) {
    if (!clients_[client].proceed()) return;
    Request& request = requests_[current_[client]];
    request.over = Clock::now();
    request.outcome = clients_[client].outcome();
    --in_flight_;
}

Generator::Clock::duration Generator::until_next_due(Clock::time_point now) const {
    if (requests_.size() == planned_) return 100ms;
    const std::chrono::duration<double> offset(static_cast<double>(requests_.size()) / plan_.rate);
    const auto due = start_ + std::chrono::duration_cast<Clock::duration>(offset);
    return std::clamp<Clock::duration>(due - now, 0ms, 100ms);
}

void Generator::print() const {
    for (const Request& request : requests_) {
        const char* outcome = request.over ? name_of(request.outcome) : "waiting";
        std::printf("%lld %lld %lld %d %s\n", after_start(request.due), after_start(request.sent),
                    after_start(request.over), int{request.queued}, outcome);
    }
}

long long Generator::after_start(const std::optional<Clock::time_point>& when) const {
    if (!when) return -1;
    return std::chrono::duration_cast<std::chrono::microseconds>(*when - start_).count();
}

}  // namespace open_loop
