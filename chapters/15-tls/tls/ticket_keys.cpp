// TODO(15.7): make tickets with keys of our own.
// - random_key() and rotate(): a key makes tickets for `lifetime_` and then opens them for the same
//   time again; after a longer pause the previous key is too old as well
// - use_for(): one ticket for each handshake, a timeout of two lifetimes, and the callback, which
//   SSL_CTX_set_tlsext_ticket_key_evp_cb(3) describes: AES-256-CBC, and HMAC with SHA-256
// - the callback is called on every thread
#include "ticket_keys.h"

namespace web {

TicketKeys::TicketKeys(std::chrono::seconds lifetime) : lifetime_(lifetime) {}

void TicketKeys::use_for(SSL_CTX*) {}

}  // namespace web
