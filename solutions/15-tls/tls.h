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
    /// Files in PEM: a certificate and those that vouch for it, and its key.
    struct Identity {
        std::string cert;
        std::string key;
    };

    /// None: no TLS. The first is for whoever asks for a host that none is for.
    std::vector<Identity> identities;
    std::chrono::seconds ticket_lifetime{3600};
};

class TicketKeys;

/// The certificates, and the keys of the tickets. All threads share it: a mutex is taken once for
/// each client.
class Tls {
public:
    /// Throws std::invalid_argument naming the option whose file is of no use. `reloading` is set
    /// when the files have changed; it must outlive this, which must outlive its sessions.
    Tls(const TlsOptions& options, std::atomic<bool>& reloading);
    ~Tls();

    bool is_on() const { return !options_.identities.empty(); }

    /// Throws std::bad_alloc.
    std::unique_ptr<TlsSession> new_session(SpanBio& span_bio);

    /// To be called about once a second. Who has a connection keeps the certificate that it began
    /// with. Files that are of no use change nothing, and the log says so.
    void reload_if_asked(Log& log);

private:
    const TlsOptions options_;
    [[maybe_unused]] std::atomic<bool>& reloading_;
    std::unique_ptr<TicketKeys> ticket_keys_;
    std::mutex mutex_;  // guards what follows
    std::shared_ptr<const Certificates> certificates_;
};

}  // namespace web
