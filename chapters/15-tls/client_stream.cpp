// TODO(15.3): write what client_stream.h declares, except release_buffers(), send_close_notify()
// and release_idle_buffers(). After the last answer finish_sending() sends close_notify, and then
// it ends the sending side of the socket.
// TODO(15.4): release_buffers().
// TODO(15.6): the other two. finish_sending() is then the stream's, and a handshake proceeds only
// if it has a turn in this iteration.
#include "client_stream.h"
