#include <stdexcept>

#include "tls.h"

namespace web {

// Built without OpenSSL. There are no sessions, so only the functions that report this are ever
// called.

class TicketKeys {};

Tls::Tls(const TlsOptions& options) : options_(options) {
    if (is_on()) throw std::invalid_argument("--cert: this server was built without OpenSSL");
}

Tls::~Tls() = default;

std::unique_ptr<TlsSession> Tls::new_session(SpanBio&) {
    return nullptr;
}

void Tls::reload(Log&) {}

TlsSession::~TlsSession() = default;

std::expected<std::size_t, IoError> TlsSession::read(std::span<char>) {
    return std::unexpected(IoError::failed);
}

bool TlsSession::write(std::string_view) {
    return false;
}

void TlsSession::close() {}

void TlsSession::release_idle_buffers() {}

SpanBio::SpanBio() = default;
SpanBio::~SpanBio() = default;

}  // namespace web
