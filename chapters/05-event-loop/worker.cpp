// TODO(5): in the order in which you will need them:
// - run(): wait, then for each ready descriptor accept or serve; look at the clock once a turn
// - accept: until nobody is waiting, but only so many in a row. Out of descriptors? Stop watching
// the
//   listener until a client has gone, or the loop spins
// - serve: receive into the connection's buffer, or go on sending; then send what there is; then
// tell
//   the poller, but only if what the client is waited for has changed
// - a client that is done is closed after the batch: its descriptor's number may come again within
// it
// - a deadline for each phase, checked once a second; the end: no new clients, a second for the
// others
#include "worker.h"
