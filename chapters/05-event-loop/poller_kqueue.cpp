// TODO(5.1): the same functions in the same order, with kqueue(2). It has two filters where epoll
// has one mask: EVFILT_READ to receive, EVFILT_WRITE to send.
// - add: EV_ADD the filter; change: EV_DELETE the other filter and EV_ADD this one, in one
//   kevent(2) call
// - wait: kevent(2) without changes; the descriptor is in ident. No timespec means no timeout.
#include "poller.h"
