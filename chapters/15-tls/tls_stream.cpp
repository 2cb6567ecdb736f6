// TODO(15): what tls_stream.h declares.
// - receive: first send what waits to be sent; then receive, leaving as much space free as a record
//   that has begun may already have; send an answer of the handshake, or an alert, at once
// - send: encrypt what fits on the wire and send it with one call; keep what the socket does not
//   take in a buffer of the pool, and report the last byte as sent only when all of it has been
//   sent
// - two things are failures: the socket's end without close_notify, and no memory for the rest of a
//   record
#include "tls_stream.h"
