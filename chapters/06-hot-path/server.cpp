#include "server.h"

#include "socket.h"

namespace web {

Server::Server(const ServerOptions& options, Handler handler, const std::atomic<bool>& stopping)
    : worker_(listen_on(options.host, options.port), handler, stopping),
      port_(local_port(worker_.listener())) {}

}  // namespace web
