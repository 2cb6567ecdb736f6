#pragma once

#include <atomic>
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
    /// Throws std::invalid_argument naming the option whose file can't be used. `reloading` is set
    /// when the files have changed; it must outlive this object, which must outlive its sessions.
    Tls(const TlsOptions& options, std::atomic<bool>& reloading);
    ~Tls();

    bool is_on() const { return !options_.identities.empty(); }

    /// Throws std::bad_alloc.
    std::unique_ptr<TlsSession> new_session(SpanBio& span_bio);

    /// To be called about once a second. Existing connections keep the certificate they began with.
    /// If a file can't be used nothing changes, and the error is logged.
    void reload_if_asked(Log& log);

private:
    const TlsOptions options_;
    [[maybe_unused]] std::atomic<bool>& reloading_;
    std::unique_ptr<TicketKeys> ticket_keys_;
    std::mutex mutex_;  // protects the members below
    std::shared_ptr<const Certificates> certificates_;
};

}  // namespace web
