#include "tls_session.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <chrono>
#include <new>
#include <utility>

#include "certificates.h"
#include "date.h"

namespace web {
namespace {

// RFC 9110 §6.6.1: a 4xx answer must have a Date.
void reject_plain_http(SpanBio& span_bio) {
    char answer[] =
        "HTTP/1.1 400 Bad Request\r\n"
        "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
        "Content-Length: 0\r\n"
        "Connection: close\r\n"
        "\r\n";
    using namespace std::chrono;
    write_date(answer + std::string_view("HTTP/1.1 400 Bad Request\r\nDate: ").size(),
               floor<seconds>(system_clock::now()));
    span_bio.write(answer);
}

}  // namespace

TlsSession::TlsSession(std::shared_ptr<const Certificates> certificates, SpanBio& span_bio)
    : certificates_(std::move(certificates)),
      span_bio_(span_bio),
      ssl_(SSL_new(certificates_->first())) {
    if (!ssl_) {
        ERR_clear_error();
        throw std::bad_alloc();
    }
    BIO_up_ref(span_bio.bio());  // SSL_set_bio(3) takes one reference for both sides
    SSL_set_bio(ssl_, span_bio.bio(), span_bio.bio());
    SSL_set_accept_state(ssl_);
}

TlsSession::~TlsSession() {
    SSL_free(ssl_);
}

// SSL_get_error(3) would attribute errors left in the thread's queue to this session.
std::expected<std::size_t, IoError> TlsSession::read(std::span<char> into) {
    const auto count = read_records(into);
    if (!open_) {
        open_ = SSL_is_init_finished(ssl_) == 1;
        ERR_clear_error();
    }
    return count;
}

// OpenSSL keeps a partial record, so one more record than was received now may be complete. Read
// until there is none, because no event on the socket would report one that is left.
std::expected<std::size_t, IoError> TlsSession::read_records(std::span<char> into) {
    std::size_t received = 0;
    while (span_bio_.has_input() || SSL_has_pending(ssl_) == 1) {
        const int count =
            SSL_read(ssl_, into.data() + received, static_cast<int>(into.size() - received));
        if (count <= 0) return stopped(count, received);
        received += static_cast<std::size_t>(count);
    }
    return received;
}

std::expected<std::size_t, IoError> TlsSession::stopped(int result, std::size_t received) {
    const int error = SSL_get_error(ssl_, result);
    if (error == SSL_ERROR_ZERO_RETURN) {
        ended_ = true;
        return received;
    }
    if (error != SSL_ERROR_WANT_READ) {
        failed_ = true;
        if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST) reject_plain_http(span_bio_);
        ERR_clear_error();
        return std::unexpected(IoError::failed);
    }
    if (received == 0) return std::unexpected(IoError::needs_receive);
    return received;
}

bool TlsSession::write(std::string_view plain) {
    const int size = static_cast<int>(plain.size());
    if (SSL_write(ssl_, plain.data(), size) == size) return true;
    ERR_clear_error();
    return false;
}

void TlsSession::close() {
    if (failed_ || !open_) return;
    SSL_shutdown(ssl_);
    ERR_clear_error();
}

// SSL_alloc_buffers(3): the buffers are allocated again with the next record. A partial record
// keeps them.
void TlsSession::release_idle_buffers() {
    SSL_free_buffers(ssl_);
}

}  // namespace web
