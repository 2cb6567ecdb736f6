#include "acceptor.h"

#include <new>
#include <utility>

namespace web {
namespace {

// After accepting this many clients in a row, the loop serves the existing ones.
constexpr int accept_batch = 64;

}  // namespace

Acceptor::Acceptor(Fd listener, Poller& poller, Handler& handler, Log& log, AddClient add_client)
    : listener_(std::move(listener)),
      poller_(poller),
      handler_(handler),
      log_(log),
      add_client_(std::move(add_client)) {
    poller_.add(listener_.number(), Interest::receive);
}

// A client for which there is no memory is disconnected. Others stay in the listen queue for now.
void Acceptor::accept() try {
    for (int i = 0; i < accept_batch; ++i) {
        auto client = accept_client(listener_);
        if (!client && client.error() == AcceptError::gone) continue;
        if (!client && client.error() == AcceptError::exhausted) {
            if (handler_.release_caches()) continue;
            return pause();
        }
        if (!client) return;
        add_client_(std::move(*client));
    }
} catch (const std::bad_alloc&) {
    pause();
}

// accept(2): without free descriptors the listener stays ready, and the loop would spin.
void Acceptor::pause() {
    poller_.remove(listener_.number(), Interest::receive);
    watched_ = false;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_warning_) return;
    log_.write(LogLevel::warn, "no descriptor or no memory for a client: others wait");
    next_warning_ = now + std::chrono::seconds(1);
}

void Acceptor::resume() {
    if (watched_ || listener_.number() < 0) return;
    watched_ = true;
    poller_.add(listener_.number(), Interest::receive);
}

void Acceptor::close() {
    poller_.remove(listener_.number(), Interest::receive);
    listener_ = Fd();
}

}  // namespace web
