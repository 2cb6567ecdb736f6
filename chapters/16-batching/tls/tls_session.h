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

/// One client's side of TLS, which converts between records and plain bytes. Makes no system call:
/// records pass through a SpanBio. After an error, only send what is still in it.
class TlsSession {
public:
    /// `span_bio` must outlive the session, which shares ownership of the certificates. Throws
    /// std::bad_alloc.
    TlsSession(std::shared_ptr<const Certificates> certificates, SpanBio& span_bio);
    ~TlsSession();

    /// Takes all that the SpanBio has received and decrypts it into `into`, which must have space
    /// for that and for a partial record received earlier. Returns the number of bytes; 0 if the
    /// peer has finished sending; `needs_receive` if there are none yet.
    std::expected<std::size_t, IoError> read(std::span<char> into);

    /// Makes a record of at most SpanBio::max_record_text bytes, for which the SpanBio must have
    /// space. Returns false on failure.
    bool write(std::string_view plain);

    /// Makes a close_notify alert (RFC 8446 §6.1), unless the session has failed.
    void close();

    /// Whether the handshake is done.
    bool is_open() const { return open_; }

    /// The peer has sent close_notify.
    bool has_ended() const { return ended_; }

    /// Nothing more may be sent to the peer.
    void fail() { failed_ = true; }

    /// Frees the memory that OpenSSL needs only while bytes are transferred.
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
