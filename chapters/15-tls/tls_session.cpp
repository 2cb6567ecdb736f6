// TODO(15): what tls_session.h declares.
// - SSL_set_bio(3) takes one reference for both sides, and the wire keeps its own
// - SSL_read(3) also does the handshake; call it until the wire is empty and OpenSSL has no more
//   (SSL_has_pending(3)), because no event would report the rest
// - SSL_get_error(3): the end, not yet, or a failure; the thread's queue of errors must be empty
//   before the call, and the failure of one client must not become the next one's
// - a client that speaks plain HTTP (SSL_R_HTTP_REQUEST) gets a plain 400
#include "tls_session.h"
