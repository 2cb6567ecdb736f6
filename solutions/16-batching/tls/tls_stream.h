#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <span>

#include "buffer.h"
#include "buffer_pool.h"
#include "fd.h"
#include "output.h"
#include "socket.h"
#include "span_bio.h"
#include "tls_session.h"

namespace web {

/// Carries one client's records between its socket and its session. Records that the socket doesn't
/// take wait here. Their plain bytes are reported as sent while they drain, and the last one only
/// when everything is sent, so the caller sees a slow client as it would without TLS.
class TlsStream {
public:
    /// `span_bio` and `pool` must outlive it.
    TlsStream(std::unique_ptr<TlsSession> session, SpanBio& span_bio, BufferPool& pool)
        : session_(std::move(session)), span_bio_(span_bio), pool_(pool) {}
    ~TlsStream() { release_buffers(); }

    /// Like those of a socket. `into` must have space for more than a record.
    std::expected<std::size_t, IoError> receive(const Fd& socket, std::span<char> into);
    std::expected<std::size_t, IoError> send(const Fd& socket, std::span<const iovec> bytes,
                                             const FileRange* file);

    /// Sends close_notify (RFC 8446 §6.1).
    void send_close_notify(const Fd& socket);

    /// Like half_close(). Receiving continues, but the bytes received are only counted.
    void finish_sending(const Fd& socket);

    bool is_open() const { return session_->is_open(); }
    bool has_ended() const { return session_->has_ended(); }
    bool has_unsent() const { return static_cast<bool>(unsent_); }
    void release_buffers() { pool_.release(std::move(unsent_)); }

    /// To be called from time to time. Releases memory that an idle client doesn't need.
    void release_idle_buffers();

private:
    std::expected<std::size_t, IoError> fail(const Fd& socket);
    bool encrypt(const Output& output);
    std::expected<std::size_t, IoError> flush(const Fd& socket);
    bool keep_unsent(std::string_view bytes);

    const std::unique_ptr<TlsSession> session_;
    SpanBio& span_bio_;
    BufferPool& pool_;
    Buffer unsent_;               // records, in a buffer that the pool lends while there are any
    std::size_t unreported_ = 0;  // plain bytes in unsent_ that have not been reported as sent
    bool finishing_ = false;
    bool idle_buffers_released_ = true;
};

}  // namespace web
