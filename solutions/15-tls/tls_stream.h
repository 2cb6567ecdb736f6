#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <span>

#include "buffer.h"
#include "buffer_pool.h"
#include "connection.h"
#include "fd.h"
#include "socket.h"
#include "span_bio.h"
#include "tls_session.h"

namespace web {

/// Carries one client's records between its socket and its session. What the socket does not take
/// waits here; the bytes that it stands for are told as sent while it goes, and the last of them
/// only when all is gone, so that whoever sends sees a slow client as he would without TLS.
class TlsStream {
public:
    /// `wire` and `pool` must outlive it.
    TlsStream(std::unique_ptr<TlsSession> session, SpanBio& span_bio, BufferPool& pool)
        : session_(std::move(session)), span_bio_(span_bio), pool_(pool) {}
    ~TlsStream() { release_buffers(); }

    /// As of a socket. `into` must have room for more than a record.
    std::expected<std::size_t, IoError> receive(const Fd& socket, std::span<char> into);
    std::expected<std::size_t, IoError> send(const Fd& socket, std::span<const iovec> bytes,
                                             const FileRange* file);

    /// Says that all has been said (RFC 8446 §6.1).
    void send_close_notify(const Fd& socket);

    /// As half_close(). Receiving goes on, but what comes is only counted.
    void finish_sending(const Fd& socket);

    bool is_open() const { return session_->is_open(); }
    bool has_ended() const { return session_->has_ended(); }
    bool has_unsent() const { return static_cast<bool>(unsent_); }
    void release_buffers() { pool_.release(std::move(unsent_)); }

    /// To be called now and then.
    void release_idle_buffers();

private:
    std::expected<std::size_t, IoError> fail(const Fd& socket);
    bool encrypt(const Output& output);
    std::expected<std::size_t, IoError> flush(const Fd& socket);
    bool keep_unsent(std::string_view bytes);

    const std::unique_ptr<TlsSession> session_;
    SpanBio& span_bio_;
    BufferPool& pool_;
    Buffer unsent_;               // records; lent by the pool while there are any
    std::size_t unreported_ = 0;  // bytes that unsent_ stands for and that nobody was told of
    bool finishing_ = false;
    bool idle_buffers_released_ = true;
};

}  // namespace web
