// GIVEN(15), for you to use: nothing to write here. Read it first.
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
#include "tls_session.h"
#include "tls_wire.h"

namespace web {

/// Carries one client's records between its socket and its session. What the socket does not take
/// waits here; the bytes that it stands for are told as sent while it goes, and the last of them
/// only when all is gone, so that whoever sends sees a slow client as he would without TLS.
class TlsChannel {
public:
    /// `wire` and `pool` must outlive it.
    TlsChannel(std::unique_ptr<TlsSession> session, TlsWire& wire, BufferPool& pool)
        : session_(std::move(session)), wire_(wire), pool_(pool) {}
    ~TlsChannel() { return_buffers(); }

    /// As of a socket. `into` must have room for more than a record.
    std::expected<std::size_t, IoError> receive(const Fd& socket, std::span<char> into);
    std::expected<std::size_t, IoError> send(const Fd& socket, std::span<const iovec> bytes,
                                             const FileRange* file);

    /// Says that all has been said (RFC 8446 §6.1).
    void say_goodbye(const Fd& socket);

    /// As half_close(). Receiving goes on, but what comes is only counted.
    void finish_sending(const Fd& socket);

    bool is_open() const { return session_->is_open(); }
    bool has_ended() const { return session_->has_ended(); }
    bool has_unsent() const { return static_cast<bool>(unsent_); }
    void return_buffers() { pool_.give_back(std::move(unsent_)); }

    /// To be called now and then.
    void rest();

private:
    std::expected<std::size_t, IoError> fail(const Fd& socket);
    bool encrypt(const Output& output);
    std::expected<std::size_t, IoError> flush(const Fd& socket);
    bool keep(std::string_view bytes);

    const std::unique_ptr<TlsSession> session_;
    TlsWire& wire_;
    BufferPool& pool_;
    Buffer unsent_;         // records; lent by the pool while there are any
    std::size_t owed_ = 0;  // bytes that unsent_ stands for and that nobody was told of
    bool finishing_ = false;
    bool rested_ = true;
};

}  // namespace web
