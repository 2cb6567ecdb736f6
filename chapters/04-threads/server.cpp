#include "server.h"

#include <utility>

namespace web {

Server::Server(const ServerOptions& options, HandlerFactory make_handler,
               const std::atomic<bool>& stopping)
    : listener_(listen_on(options.host, options.port)),
      handler_(make_handler()),
      stopping_(stopping) {}

void Server::run() {
    // TODO(4.1): run this loop on several threads, and join them. What happens to those already
    // started if the next one cannot be started? TODO(4.2): a thread for each listener.
    while (!stopping_.load(std::memory_order_relaxed)) {
        if (auto client = accept_client(listener_)) {
            Connection(std::move(*client), *handler_, stopping_).serve();
        }
    }
}

}  // namespace web
