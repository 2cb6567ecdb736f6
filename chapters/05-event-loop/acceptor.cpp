// TODO(5.4): watch the listener from the constructor on. accept(): until no client is waiting, but
// only a limited number in a row, hand each client to add_client_. If that throws std::bad_alloc,
// the client is closed again.
// TODO(5.5): out of descriptors or memory: stop watching the listener until resume(), otherwise the
// loop spins.
#include "acceptor.h"
