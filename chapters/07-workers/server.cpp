#include "server.h"

#include "socket.h"

namespace web {

Server::Server(const ServerOptions& options, Handler handler, const std::atomic<bool>& stopping)
    // TODO(7): listen_on() gives a listener for each worker.
    : worker_(listen_on(options.host, options.port), handler, stopping),
      port_(local_port(worker_.listener())) {}

}  // namespace web
