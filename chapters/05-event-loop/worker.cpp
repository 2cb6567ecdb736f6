// TODO(5.4): do what echo.cpp does, for connections. In the order in which you will need them:
// - run_once: wait, then accept or serve for each ready descriptor.
// - add_client: the acceptor calls it for each new client.
// - exchange: receive once if that is wanted, then send the output; an error of the socket reports
//   what it waits for instead. Running out of memory affects only this client, as in driver.cpp.
// - serve: call exchange, check what the connection wants now, and update the poller if the
//   interest has changed. At Waiting::peer_close the socket is half-closed.
// TODO(5.5): complete the server:
// - out of descriptors or memory: the acceptor resumes when a client has disconnected, and at the
//   next check of the deadlines.
// - close a client only after the batch, because its descriptor's number may be reused within the
//   batch.
// - a deadline that restarts whenever what the connection wants changes (its ConnectionState).
// While
//   clients are active, the deadlines are checked once a second; otherwise the loop sleeps until
//   the earliest one, or for ever.
// - stopping: accept no new clients, and allow one second for the clients being answered.
#include "worker.h"
