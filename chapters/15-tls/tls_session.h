// GIVEN(15), for you to use: nothing to write here. Read it first.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <span>
#include <string_view>

#include "socket.h"
#include "span_bio.h"

struct ssl_st;

namespace web {

class Certificates;

/// One client's side of TLS: records in, bytes out, and the other way. Makes no system call: what
/// comes and goes does so over the wire. An error leaves nothing to do but to send what is on it.
class TlsSession {
public:
    /// The wire must outlive it, the certificates do. Throws std::bad_alloc.
    TlsSession(std::shared_ptr<const Certificates> certificates, SpanBio& span_bio);
    ~TlsSession();

    /// Takes all that the wire has received and puts what it says into `into`, which has room for
    /// that and for what a record held that had begun. How many bytes that was; 0 if the peer has
    /// finished sending; `wants_receive` if there are none yet.
    std::expected<std::size_t, IoError> read(std::span<char> into);

    /// Makes a record of at most SpanBio::max_record_text bytes. The wire must have room for it.
    /// False: it failed.
    bool write(std::string_view plain);

    /// Says that nothing more will come (RFC 8446 §6.1), unless it has failed.
    void close();

    /// The handshake is done.
    bool is_open() const { return open_; }

    /// The peer has said that nothing more will come.
    bool has_ended() const { return ended_; }

    /// Nothing is to be said to the peer any more.
    void fail() { failed_ = true; }

    /// Frees what OpenSSL needs only while bytes come or go.
    void release_idle_buffers();

private:
    std::expected<std::size_t, IoError> read_records(std::span<char> into);
    std::expected<std::size_t, IoError> stopped(int result, std::size_t received);

    const std::shared_ptr<const Certificates> certificates_;
    SpanBio& span_bio_;
    ssl_st* ssl_ = nullptr;
    bool open_ = false;
    bool ended_ = false;
    bool failed_ = false;
};

}  // namespace web
