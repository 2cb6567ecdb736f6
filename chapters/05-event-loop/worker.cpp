// TODO(5): in the order in which you will need them:
// - run: wait, then accept or serve for each ready descriptor; look at the clock once a turn.
// - accept: until nobody is waiting, but only so many in a row. When out of descriptors, stop
//   watching the listener until a client has gone, or the loop spins.
// - serve: receive into the connection's buffer, or go on sending; then send what there is; then
//   tell the poller, but only if what the client is waited for has changed.
// - drop: a client is closed after the batch, for its descriptor's number may come again in it.
// - a deadline for each phase, checked once a second.
// - the end: no new clients, and a second for those who are being answered.
#include "worker.h"
