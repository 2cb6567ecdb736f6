#include "server.h"

#include <utility>

namespace web {

Server::Server(const ServerOptions& options, HandlerFactory make_handler,
               const std::atomic<bool>& stopping)
    : listener_(listen_on(options.host, options.port)),
      handler_(make_handler()),
      stopping_(stopping) {}

void Server::run() {
    while (!stopping_.load(std::memory_order_relaxed)) {
        if (auto client = accept_client(listener_)) {
            Connection(std::move(*client), *handler_, stopping_).serve();
        }
    }
}

}  // namespace web
