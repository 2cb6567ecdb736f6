// GIVEN(15), for you to use: nothing to write here. Read it first.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <vector>

#include "ticket_keys.h"
#include "tls.h"

namespace web {

/// Certificates with their keys, as their files had them, and how TLS is spoken with each. Never
/// changes, so all threads may use it; its sessions share it.
class Certificates {
public:
    /// Throws std::invalid_argument naming the option whose file is of no use.
    Certificates(const std::vector<TlsOptions::Identity>& identities, TicketKeys& ticket_keys);
    Certificates(const Certificates&) = delete;
    Certificates& operator=(const Certificates&) = delete;

    /// For a client that has not yet said whom it wants.
    SSL_CTX* first() const { return contexts_.front().get(); }

private:
    struct Free {
        void operator()(SSL_CTX* context) const;
    };
    using Context = std::unique_ptr<SSL_CTX, Free>;

    static Context make_context(TicketKeys& ticket_keys);
    static int choose(SSL* ssl, int* alert, void* certificates);

    SSL_CTX* of_host(const char* name) const;

    std::vector<Context> contexts_;  // one for each identity
};

}  // namespace web
