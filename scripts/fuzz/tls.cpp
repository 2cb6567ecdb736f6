// However records are split, and however little the socket takes of the answers, both sides must
// receive what the other sent. Input that is not TLS must end that client.

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../tls/identity.h"
#include "buffer_pool.h"
#include "pieces.h"
#include "span_bio.h"
#include "tls_session.h"
#include "tls_stream.h"

namespace {

using fuzz::PieceSize;

void must(bool holds) {
    if (!holds) std::abort();
}

/// A client's side of TLS, which works in memory only.
class Peer {
public:
    Peer() : context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_)) {
        SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_connect_state(ssl_);
        SSL_do_handshake(ssl_);
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    ~Peer() {
        SSL_free(ssl_);
        SSL_CTX_free(context_);
        ERR_clear_error();
    }

    /// Queues text, which becomes records once the handshake is done.
    void say(std::string_view text) { text_ += text; }

    void hear(std::string_view records) {
        BIO_write(SSL_get_rbio(ssl_), records.data(), static_cast<int>(records.size()));
        if (SSL_do_handshake(ssl_) == 1 && !text_.empty()) {
            SSL_write(ssl_, text_.data(), static_cast<int>(text_.size()));
            text_.clear();
        }
        char bytes[4096];
        for (int count; (count = SSL_read(ssl_, bytes, sizeof bytes)) > 0;)
            heard_.append(bytes, static_cast<std::size_t>(count));
        ERR_clear_error();
    }

    /// Returns the records to be sent.
    std::string records() {
        char* bytes = nullptr;
        const long size = BIO_get_mem_data(SSL_get_wbio(ssl_), &bytes);
        std::string all(bytes, static_cast<std::size_t>(size));
        static_cast<void>(BIO_reset(SSL_get_wbio(ssl_)));
        return all;
    }

    const std::string& heard() const { return heard_; }

private:
    SSL_CTX* context_;
    SSL* ssl_;
    std::string text_;
    std::string heard_;
};

/// A channel at one end of a socket pair that echoes what it receives.
class EchoServer {
public:
    EchoServer() {
        int pair[2];
        must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
        socket_ = web::Fd(pair[0]);
        peer_ = web::Fd(pair[1]);
        const int little = 4096;
        ::setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
    }

    bool failed() const { return failed_; }
    const std::string& heard() const { return heard_; }

    /// Sends some of the bytes, as many as the socket takes.
    std::size_t take(std::string_view bytes) {
        const ssize_t sent = ::send(peer_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        serve();
        return sent > 0 ? static_cast<std::size_t>(sent) : 0;
    }

    /// Receives at most `most` of the bytes that the server sent.
    std::string give(std::size_t limit) {
        std::string bytes(limit, '\0');
        const ssize_t got = ::recv(peer_.number(), bytes.data(), limit, 0);
        bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        serve();
        return bytes;
    }

private:
    void serve() {
        if (failed_) return;
        const auto got = channel_.receive(socket_, room_);
        heard_.append(room_.data(), got.value_or(0));
        unsaid_.append(room_.data(), got.value_or(0));
        if (!got && got.error() == web::IoError::failed) failed_ = true;
        while (!failed_ && !unsaid_.empty()) {
            // Two parts, like a head and a body.
            const std::size_t head = unsaid_.size() / 3;
            const iovec parts[] = {{unsaid_.data(), head},
                                   {unsaid_.data() + head, unsaid_.size() - head}};
            const auto took = channel_.send(socket_, parts, nullptr);
            if (!took || *took == 0) return;
            unsaid_.erase(0, *took);
        }
    }

    web::BufferPool pool_;
    web::SpanBio span_bio_;
    web::Fd socket_;
    web::Fd peer_;
    web::TlsStream channel_{std::make_unique<web::TlsSession>(identity::certificates(), span_bio_),
                            span_bio_, pool_};
    std::vector<char> room_ = std::vector<char>(64 * 1024);
    std::string heard_;
    std::string unsaid_;
    bool failed_ = false;
};

/// A handshake has some kilobytes, which would take too long byte by byte.
std::size_t piece(const PieceSize& next_size) {
    constexpr std::size_t min = 16;
    return min * std::clamp<std::size_t>(next_size(), 1, 4096);
}

/// Runs until both sides have sent everything.
std::string judge_echo(std::string_view text, const PieceSize& next_size) {
    Peer peer;
    EchoServer server;
    peer.say(text);
    std::string records;
    for (bool moved = true; moved;) {
        records += peer.records();
        const auto next = std::string_view(records).substr(0, piece(next_size));
        const std::size_t taken = server.take(next);
        records.erase(0, taken);
        const std::string answer = server.give(piece(next_size));
        peer.hear(answer);
        moved = taken > 0 || !answer.empty();
    }
    must(!server.failed() && server.heard() == text && peer.heard() == text);
    return "same";
}

/// Input that is not TLS, whole or in pieces.
std::string judge_garbage(std::string_view bytes, const PieceSize& next_size) {
    EchoServer server;
    while (!bytes.empty() && !server.failed()) {
        const std::size_t size = std::clamp<std::size_t>(next_size(), 1, bytes.size());
        const std::size_t taken = server.take(bytes.substr(0, size));
        server.give(1 << 16);
        if (taken == 0) break;
        bytes.remove_prefix(taken);
    }
    must(server.heard().empty());
    return server.failed() ? "failed" : "waits";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2 || size > 4096) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    fuzz::cut(text, data[0] % 2 == 0 ? judge_echo : judge_garbage);
    return 0;
}
