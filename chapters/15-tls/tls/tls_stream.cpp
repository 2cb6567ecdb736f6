// TODO(15.3): receive(), send(), encrypt(), flush(), fail() and send_close_notify().
// - receive(): receive into the SpanBio, and leave as much space in `into` free as a record that
//   has begun may already have; send the answer of a handshake, or an alert, at once
// - send(): encrypt what fits into the SpanBio and send it with one call; a connection has failed
//   if the socket doesn't take everything, or if there is a file to send
// TODO(15.4): keep what the socket doesn't take, in a buffer of the pool, and send it before
// anything else. Report the last plain byte as sent only when all records have been sent. Without
// memory for the rest of a record the connection has failed.
// TODO(15.5): let a RecordSplitter cut the output into records, and read the file.
// TODO(15.6): an end of the socket without close_notify is a failure. Add finish_sending(), after
// which receive() only counts bytes, and release_idle_buffers().
#include "tls_stream.h"
