#include "server.h"

#include <utility>

#include "socket.h"

namespace web {

Server::Server(const ServerOptions& options, HandlerFactory make_handler, const WakeEvent& stop)
    : worker_(std::move(listen_on(options.host, options.port, 1).front()), make_handler(),
              options.timeouts, stop),
      port_(local_port(worker_.listener())) {}

}  // namespace web
