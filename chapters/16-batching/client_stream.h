#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <span>

#include "buffer_pool.h"
#include "connection.h"
#include "fd.h"
#include "socket.h"
#include "span_bio.h"
#include "tls.h"
#include "tls_stream.h"

namespace web {

/// What the client streams of one worker share. Belongs to its thread.
class StreamContext {
public:
    /// `tls` and `pool` must outlive it.
    StreamContext(Tls& tls, BufferPool& pool);

    bool has_tls() const { return span_bio_ != nullptr; }

    /// Must be called in each iteration of the loop: lets some more handshakes proceed.
    void allow_handshakes() { handshake_turns_left_ = handshakes_per_iteration; }

private:
    friend class ClientStream;

    // A step of a handshake may cost as much as dozens of requests on established connections.
    static constexpr int handshakes_per_iteration = 8;

    std::unique_ptr<TlsStream> make_tls_stream();
    bool take_handshake_turn() { return handshake_turns_left_-- > 0; }

    Tls& tls_;
    BufferPool& pool_;
    const std::unique_ptr<SpanBio> span_bio_;  // null: no TLS
    int handshake_turns_left_ = 0;             // that may still proceed in this iteration
};

/// One client's bytes in both directions, plain or with TLS. Owns the socket.
class ClientStream {
public:
    /// Throws std::bad_alloc. `context` must outlive the stream.
    ClientStream(Fd socket, StreamContext& context);

    int fd() const { return socket_.number(); }

    bool is_encrypted() const { return tls_ != nullptr; }

    /// Whether the handshake is done; true without TLS.
    bool is_open() const { return !tls_ || tls_->is_open(); }

    /// Like web::receive(). Must be called again if the handshake may not proceed in this
    /// iteration.
    std::expected<std::size_t, IoError> receive(std::span<char> into) {
        if (!tls_) [[likely]]
            return web::receive(socket_, into);
        return receive_tls(into);
    }

    /// Like web::send(), and sends a limited part of a file.
    std::expected<std::size_t, IoError> send(const Output& output) {
        if (tls_) [[unlikely]]
            return tls_->send(socket_, output.bytes, output.file);
        return output.file ? web::send(socket_, output.bytes, *output.file, file_piece)
                           : web::send(socket_, output.bytes);
    }

    /// Whether the peer has sent its close_notify, which comes after the bytes received. Without
    /// TLS receive() returns 0 instead.
    bool has_ended() const { return tls_ && tls_->has_ended(); }

    /// Whether encrypted records are unsent, even if the connection has no more output.
    bool has_unsent() const { return tls_ && tls_->has_unsent(); }

    /// Sends close_notify if there is TLS (RFC 8446 §6.1).
    void send_close_notify();

    /// Like half_close().
    void finish_sending();

    void release_buffers();

    /// To be called from time to time. Releases memory that an idle client doesn't need.
    void release_idle_buffers();

private:
    /// The maximum number of bytes of a file in one call, so that other clients are served in
    /// between.
    static constexpr std::size_t file_piece = 1024 * 1024;

    std::expected<std::size_t, IoError> receive_tls(std::span<char> into);

    Fd socket_;
    std::unique_ptr<TlsStream> tls_;  // null: no TLS
    StreamContext& context_;
};

}  // namespace web
