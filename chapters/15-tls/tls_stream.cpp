// TODO(15): what tls_stream.h declares.
// - receive: what waits to be sent goes first; then a receive, so much less than there is room for
//   as a record may already have; an answer of the handshake, or an alert, is sent at once
// - send: what fits on the wire is encrypted and sent with one call; what the socket does not take
//   is kept in a buffer of the pool, and its last byte is told as sent only when all is gone
// - a failure is: the socket's end without close_notify, and no memory for the rest of a record
#include "tls_stream.h"
