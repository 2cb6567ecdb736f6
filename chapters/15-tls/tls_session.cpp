// TODO(15): what tls_session.h declares.
// - SSL_set_bio(3) takes one reference for both sides, and the wire keeps its own
// - SSL_read(3) does the handshake, too; it is asked until the wire is empty and OpenSSL has no
//   more (SSL_has_pending(3)), for no event would tell of that
// - SSL_get_error(3): the end, not yet, or a failure; the thread's queue of errors must be empty
//   before, and a failure of one client must not be the next one's
// - who speaks plain HTTP (SSL_R_HTTP_REQUEST) gets a plain 400
#include "tls_session.h"
