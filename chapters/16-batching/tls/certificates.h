#pragma once

#include <openssl/types.h>

#include <memory>
#include <vector>

#include "ticket_keys.h"
#include "tls.h"

namespace web {

/// Certificates and keys loaded from files, with a TLS context for each list of host names.
/// Immutable, so all threads may use it. Its sessions share it.
class Certificates {
public:
    /// Throws std::invalid_argument naming the option whose file can't be used.
    Certificates(const std::vector<TlsOptions::Identity>& identities, TicketKeys& ticket_keys);
    Certificates(const Certificates&) = delete;
    Certificates& operator=(const Certificates&) = delete;

    /// For a client that has not yet sent a host name.
    SSL_CTX* first() const { return contexts_.front().get(); }

private:
    struct Free {
        void operator()(SSL_CTX* context) const;
    };
    using Context = std::unique_ptr<SSL_CTX, Free>;

    static Context make_context(TicketKeys& ticket_keys);
    static int choose(SSL* ssl, int* alert, void* certificates);

    SSL_CTX* of_names(const SSL_CTX* other) const;
    SSL_CTX* of_host(const char* name) const;

    std::vector<Context> contexts_;  // one for each list of host names
};

}  // namespace web
