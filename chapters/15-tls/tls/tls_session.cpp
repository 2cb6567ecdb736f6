// TODO(15.2): write what tls_session.h declares, except release_idle_buffers().
// - SSL_set_bio(3) takes one reference for both sides, and the SpanBio keeps its own
// - SSL_read(3) also does the handshake; call it until the SpanBio is empty and OpenSSL has no more
//   (SSL_has_pending(3)), because no event would report the rest
// - SSL_get_error(3) tells the end from "not yet" and from a failure; the thread's queue of errors
//   must be empty before the call, and the failure of one client must not become the next one's
// - a client that speaks plain HTTP (SSL_R_HTTP_REQUEST) gets a plain 400, with
//   the Date that a 4xx must have
// TODO(15.6): release_idle_buffers(), with SSL_free_buffers(3).
#include "tls_session.h"
