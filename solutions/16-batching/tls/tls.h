#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "log.h"
#include "span_bio.h"
#include "tls_session.h"

namespace web {

struct TlsOptions {
    /// PEM files: a certificate with its chain, and its key.
    struct Identity {
        std::string cert;
        std::string key;
    };

    /// Empty: no TLS. The first is used for host names that match no certificate.
    std::vector<Identity> identities;
    std::chrono::seconds ticket_lifetime{3600};
};

class TicketKeys;

/// The certificates and the ticket keys. Shared by all threads; a mutex is taken once per client.
class Tls {
public:
    /// Throws std::invalid_argument naming the option whose file can't be used. Must outlive its
    /// sessions.
    explicit Tls(const TlsOptions& options);
    ~Tls();

    bool is_on() const { return !options_.identities.empty(); }

    /// Throws std::bad_alloc.
    std::unique_ptr<TlsSession> new_session(SpanBio& span_bio);

    /// Reads the certificates again. Existing connections keep the one they began with. If a file
    /// can't be used nothing changes, and the error is logged.
    void reload(Log& log);

private:
    const TlsOptions options_;
    std::unique_ptr<TicketKeys> ticket_keys_;
    std::mutex mutex_;  // protects the members below
    std::shared_ptr<const Certificates> certificates_;
};

}  // namespace web
