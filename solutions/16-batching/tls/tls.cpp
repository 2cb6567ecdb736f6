#include "tls.h"

#include <exception>
#include <utility>

#include "certificates.h"
#include "ticket_keys.h"

namespace web {

Tls::Tls(const TlsOptions& options) : options_(options) {
    if (!is_on()) return;
    ticket_keys_ = std::make_unique<TicketKeys>(options.ticket_lifetime);
    certificates_ = std::make_shared<const Certificates>(options.identities, *ticket_keys_);
}

Tls::~Tls() = default;

std::unique_ptr<TlsSession> Tls::new_session(SpanBio& span_bio) {
    std::unique_lock lock(mutex_);
    auto certificates = certificates_;
    lock.unlock();
    return std::make_unique<TlsSession>(std::move(certificates), span_bio);
}

void Tls::reload(Log& log) try {
    if (!is_on()) return;
    auto read = std::make_shared<const Certificates>(options_.identities, *ticket_keys_);
    const std::lock_guard lock(mutex_);
    certificates_ = std::move(read);
} catch (const std::exception& error) {
    log.write(LogLevel::error, error.what());
}

}  // namespace web
