#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <span>
#include <utility>

#include "connection.h"
#include "fd.h"
#include "socket.h"
#include "tls_channel.h"

namespace web {

/// What one client's bytes pass through: a socket, or TLS and a socket.
class Transport {
public:
    explicit Transport(Fd socket, std::unique_ptr<TlsChannel> tls)
        : socket_(std::move(socket)), tls_(std::move(tls)), open_(!tls_) {}

    const Fd& socket() const { return socket_; }

    /// As of a socket.
    std::expected<std::size_t, IoError> receive(std::span<char> into) {
        if (!tls_) [[likely]]
            return web::receive(socket_, into);
        const auto got = tls_->receive(socket_, into);
        open_ = tls_->is_open();
        return got;
    }

    /// As of a socket: of a file at most `most` bytes.
    std::expected<std::size_t, IoError> send(const Output& output, std::size_t most) {
        if (tls_) return tls_->send(socket_, output);
        return output.file ? web::send(socket_, output.bytes, *output.file, most)
                           : web::send(socket_, output.bytes);
    }

    /// What was received last was all.
    bool has_ended() const { return tls_ && tls_->has_ended(); }

    /// Something was taken by send() or has to be said, and the socket had no room for it.
    bool has_unsent() const { return tls_ && tls_->has_unsent(); }

    /// Tells the peer that nothing more will come; receiving goes on.
    void finish_sending() {
        if (tls_) return tls_->finish_sending(socket_);
        half_close(socket_);
    }

    /// The same before it is closed, where closing alone does not tell.
    void say_goodbye() {
        if (tls_) tls_->say_goodbye(socket_);
    }

    /// There is no handshake to be done first, or it is done.
    bool is_open() const { return open_; }

    void return_buffers() {
        if (tls_) tls_->return_buffers();
    }

    /// To be called now and then: what is needed only while bytes move is freed.
    void rest() {
        if (tls_) tls_->rest();
    }

private:
    Fd socket_;
    std::unique_ptr<TlsChannel> tls_;
    bool open_;
};

}  // namespace web
