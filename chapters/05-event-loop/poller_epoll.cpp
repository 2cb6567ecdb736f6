// TODO(5.1): one kernel queue that implements the functions of poller.h. On Linux epoll(7):
// - the constructor: epoll_create1(2)
// - add, change, remove: epoll_ctl(2) with EPOLL_CTL_ADD, _MOD and _DEL. EPOLLIN to receive,
//   EPOLLOUT to send, the descriptor in data.fd. Level-triggered: no EPOLLET. If add or change
//   fails, append the descriptor to failed_.
// - wait: clear failed_, then epoll_wait(2) for at most `batch` events. The loop needs only
//   their descriptors. A signal (EINTR) is not an error: nothing is ready. The timeout is an int:
//   convert it with static_cast, and wait at most as long as an int can say.
#include "poller.h"
