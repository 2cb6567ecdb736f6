#include "client_stream.h"

#include <utility>

namespace web {
StreamContext::StreamContext(Tls& tls, BufferPool& pool)
    : tls_(tls), pool_(pool), span_bio_(tls.is_on() ? std::make_unique<SpanBio>() : nullptr) {}

std::unique_ptr<TlsStream> StreamContext::make_tls_stream() {
    if (!span_bio_) return nullptr;
    return std::make_unique<TlsStream>(tls_.new_session(*span_bio_), *span_bio_, pool_);
}

ClientStream::ClientStream(Fd socket, StreamContext& context)
    : socket_(std::move(socket)), tls_(context.make_tls_stream()), context_(context) {}

// The bytes of a handshake that has to wait stay in the socket, so the level-triggered poller
// reports the client again.
std::expected<std::size_t, IoError> ClientStream::receive_tls(std::span<char> into) {
    if (!is_open() && !context_.take_handshake_turn())
        return std::unexpected(IoError::needs_receive);
    return tls_->receive(socket_, into);
}

void ClientStream::send_close_notify() {
    if (tls_) tls_->send_close_notify(socket_);
}

void ClientStream::finish_sending() {
    tls_ ? tls_->finish_sending(socket_) : half_close(socket_);
}

void ClientStream::release_buffers() {
    if (tls_) tls_->release_buffers();
}

void ClientStream::release_idle_buffers() {
    if (tls_) tls_->release_idle_buffers();
}

}  // namespace web
