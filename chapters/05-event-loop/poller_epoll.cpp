// TODO(5.1): one kernel queue, behind the functions of poller.h. On Linux epoll(7):
// - the constructor: epoll_create1(2)
// - add, change, remove: epoll_ctl(2) with EPOLL_CTL_ADD, _MOD and _DEL. EPOLLIN to receive,
//   EPOLLOUT to send, the descriptor in data.fd. Level-triggered: no EPOLLET. When the first two
//   fail, the descriptor goes to failed_.
// - wait: forget who was unwatched, then epoll_wait(2) for at most `batch` events; what the loop
//   needs is only whose they are. A signal (EINTR) is no error: nobody is ready.
//   Its time-out is an int: say so with static_cast.
#include "poller.h"
