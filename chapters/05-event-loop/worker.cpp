// TODO(5.4): what echo.cpp does, for connections. In the order in which you will need them:
// - run_once: wait, then accept or serve for each ready descriptor.
// - accept_clients: until nobody is waiting, but only so many in a row.
// - exchange: receive once if that is wanted, then send what there is; an error of the socket says
//   what it waits for instead. What memory runs out for costs this client, as in driver.cpp.
// - serve: exchange, look what the connection wants now, and tell the poller if the interest has
//   changed. At Waiting::peer_close the socket is half-closed.
// TODO(5.5): what makes it a server:
// - out of descriptors or memory: stop watching the listener until a client has gone, or it spins.
// - a client is closed after the batch, for its descriptor's number may come again in it.
// - a deadline for each turn of what is wanted, checked once a second.
// - the end: no new clients, and a second for those who are being answered.
#include "worker.h"
