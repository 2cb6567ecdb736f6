// What a TLS session guarantees its stream: it converts between records and plain bytes, in memory
// alone.
//
//   session          every check
//   session http     those whose names contain "http"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "../unit/checks.h"
#include "identity.h"
#include "span_bio.h"
#include "tls_session.h"

namespace {

using web::IoError;
using web::SpanBio;
using web::TlsSession;

void must(bool holds, const char* what) {
    if (!holds) throw std::string(what);
}

/// A client's side of TLS, which works in memory only.
class Peer {
public:
    explicit Peer(int version = TLS1_3_VERSION)
        : context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_)) {
        SSL_set_min_proto_version(ssl_, version);
        SSL_set_max_proto_version(ssl_, version);
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

    void say(std::string_view text) { SSL_write(ssl_, text.data(), static_cast<int>(text.size())); }
    void say_close_notify() { SSL_shutdown(ssl_); }

    void hear(std::string_view records) {
        BIO_write(SSL_get_rbio(ssl_), records.data(), static_cast<int>(records.size()));
        SSL_do_handshake(ssl_);
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
    bool heard_close_notify() const { return SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN; }

private:
    SSL_CTX* context_;
    SSL* ssl_;
    std::string heard_;
};

/// A session with its SpanBio, and what it has said.
struct Server {
    explicit Server(SpanBio& span_bio)
        : bio(span_bio), session(identity::certificates(), span_bio) {}

    std::expected<std::size_t, IoError> take(std::string_view records) {
        const auto buffer = bio.receive_buffer(records.size());
        must(buffer.size() == records.size(), "receive_buffer() is too small");
        records.copy(buffer.data(), records.size());
        bio.received(records.size());
        const auto read = session.read(into);
        if (read) heard.append(into.data(), *read);
        return read;
    }

    std::string records() {
        std::string all(bio.output());
        bio.clear();
        return all;
    }

    SpanBio& bio;
    TlsSession session;
    std::string heard;
    std::vector<char> into = std::vector<char>(256 * 1024);
};

// Passes records in both directions until there are no more.
void connect(Server& server, Peer& peer, std::size_t piece = SpanBio::capacity) {
    for (std::string sent = peer.records(); !sent.empty(); sent = peer.records()) {
        for (std::string_view rest = sent; !rest.empty();
             rest.remove_prefix(std::min(piece, rest.size()))) {
            const auto read = server.take(rest.substr(0, piece));
            must(read || read.error() != IoError::failed, "read() failed in the handshake");
        }
        peer.hear(server.records());
    }
    must(server.session.is_open(), "is_open() is false after the handshake");
}

void check_empty_read() {
    SpanBio bio;
    char byte = 0;
    must(BIO_read(bio.bio(), &byte, 1) <= 0, "a byte was read where there is none");
    must(BIO_should_retry(bio.bio()), "an empty span is no end: set the retry flag");
}

void check_capacity() {
    SpanBio bio;
    const std::string full(SpanBio::capacity, 'x');
    must(bio.write(full), "write() refuses bytes that fit");
    must(!bio.write("x"), "write() takes more bytes than fit");
    must(bio.output() == full, "output() is not what was written");
    bio.clear();
    must(bio.output().empty(), "clear() leaves output");
}

void check_handshake() {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        SpanBio bio;
        Server server(bio);
        must(!server.session.is_open(), "is_open() is true before the handshake");
        Peer peer(version);
        connect(server, peer);
    }
}

void check_pieces() {
    SpanBio bio;
    Server server(bio);
    Peer peer;
    connect(server, peer, 1);
    peer.say("in pieces");
    connect(server, peer, 7);
    must(server.heard == "in pieces", "bytes were lost or changed");
}

// Each fills its record, and the last is not complete.
void check_many_records() {
    SpanBio bio;
    Server server(bio);
    Peer peer;
    connect(server, peer);
    std::string said;
    for (const std::size_t size : {1U, 16384U, 2U, 16384U, 16384U, 3U}) {
        said += std::string(size, static_cast<char>('a' + said.size() % 26));
        peer.say(std::string_view(said).substr(said.size() - size));
    }
    const std::string records = peer.records();
    static_cast<void>(server.take(std::string_view(records).substr(0, records.size() - 1)));
    must(server.heard.size() == said.size() - 3, "one read() must take all that is complete");
    static_cast<void>(server.take(std::string_view(records).substr(records.size() - 1)));
    must(server.heard == said, "bytes were lost or changed");
}

void check_needs_receive() {
    SpanBio bio;
    Server server(bio);
    const auto read = server.take("\x16\x03\x01");
    must(!read && read.error() == IoError::needs_receive, "part of a record: needs_receive");
}

void check_write() {
    SpanBio bio;
    Server server(bio);
    Peer peer;
    connect(server, peer);
    const std::string text(SpanBio::max_record_text, 'y');
    must(server.session.write(text) && server.session.write("z"), "write() failed");
    peer.hear(server.records());
    must(peer.heard() == text + "z", "the client received other bytes");
}

void check_peer_ends() {
    SpanBio bio;
    Server server(bio);
    Peer peer;
    connect(server, peer);
    peer.say("last");
    peer.say_close_notify();
    const auto read = server.take(peer.records());
    must(read == 4U, "the bytes before close_notify must be returned");
    must(server.session.has_ended(), "has_ended() is false after close_notify");
}

void check_close() {
    SpanBio bio;
    Server server(bio);
    Peer peer;
    connect(server, peer);
    server.session.close();
    peer.hear(server.records());
    must(peer.heard_close_notify(), "the client received no close_notify");
}

void check_failed_client() {
    SpanBio bio;
    Server first(bio);
    Peer peer;
    connect(first, peer);
    {
        Server second(bio);
        const auto read = second.take(std::string(100, '\x80'));
        must(!read && read.error() == IoError::failed, "bytes that are no record: failed");
        bio.clear();
        must(ERR_peek_error() == 0, "errors of one client are left in the queue for the next");
        second.session.close();
        must(bio.output().empty(), "close() says something after a failure");
    }
    peer.say("still here");
    static_cast<void>(first.take(peer.records()));
    must(first.heard == "still here", "another client's failure ended this one");
}

void check_plain_http() {
    SpanBio bio;
    Server server(bio);
    const auto read = server.take("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    must(!read && read.error() == IoError::failed, "plain HTTP: failed");
    must(bio.output().starts_with("HTTP/1.1 400 "), "plain HTTP: no 400 in the output");
    must(bio.output().contains("\r\nDate: "), "plain HTTP: no Date in the output");
    must(bio.output().ends_with("\r\n\r\n"), "plain HTTP: the output doesn't end with the head");
}

using unit::Check;

constexpr Check checks[] = {
    Check{"empty-read", check_empty_read},
    Check{"capacity", check_capacity},
    Check{"handshake", check_handshake},
    Check{"pieces", check_pieces},
    Check{"many-records", check_many_records},
    Check{"needs-receive", check_needs_receive},
    Check{"write", check_write},
    Check{"peer-ends", check_peer_ends},
    Check{"close", check_close},
    Check{"failed-client", check_failed_client},
    Check{"plain-http", check_plain_http},
};

}  // namespace

int main(int argc, char** argv) {
    return unit::run(checks, argc, argv);
}
