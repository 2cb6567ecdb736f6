#include "tls_stream.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "record_splitter.h"

namespace web {
namespace {

constexpr std::size_t max_alert = 128;  // an alert record (two bytes), in any version and cipher

std::expected<std::size_t, IoError> send_bytes(const Fd& socket, std::string_view bytes) {
    const iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    return send(socket, {&part, 1});
}

}  // namespace

// If the socket ends before TLS does, an attacker may have cut it off (RFC 8446 §6.1).
std::expected<std::size_t, IoError> TlsStream::receive(const Fd& socket, std::span<char> into) {
    if (has_unsent()) {
        const auto sent = flush(socket);
        if (!sent) return sent;
        if (has_unsent()) return std::unexpected(IoError::needs_send);
        if (finishing_) half_close(socket);
    }
    if (finishing_) return web::receive(socket, into);
    const auto got =
        web::receive(socket, span_bio_.receive_buffer(into.size() - SpanBio::max_record));
    if (got == 0) session_->fail();
    if (!got || *got == 0) return std::unexpected(got ? IoError::failed : got.error());
    idle_buffers_released_ = false;
    span_bio_.received(*got);
    const auto read = session_->read(into);
    if (!read && read.error() == IoError::failed) return fail(socket);
    if (span_bio_.output().empty()) return read;
    const auto sent = flush(socket);
    if (!sent) return sent;
    return has_unsent() && !read ? std::unexpected(IoError::needs_send) : read;
}

// Reports encrypted bytes as sent when the last of their records has been sent; until then, only as
// many as are certain.
std::expected<std::size_t, IoError> TlsStream::send(const Fd& socket, std::span<const iovec> bytes,
                                                    const FileRange* file) {
    idle_buffers_released_ = false;
    if (!has_unsent() && !encrypt({bytes, file})) return fail(socket);
    const auto sent = flush(socket);
    if (!sent) return sent;
    if (!has_unsent()) return std::exchange(unreported_, 0);
    const std::size_t reported = unreported_ > 0 ? std::min(*sent, unreported_ - 1) : 0;
    unreported_ -= reported;
    return reported;
}

// Encrypts as much as the SpanBio has space for. A file that ends too early ends the connection.
// Most answers are contiguous and fit into one record, so they need not be split.
bool TlsStream::encrypt(const Output& output) {
    const auto& parts = output.bytes;
    if (parts.size() == 1 && !output.file && parts[0].iov_len <= SpanBio::max_record_text) {
        const std::string_view all{static_cast<const char*>(parts[0].iov_base), parts[0].iov_len};
        if (!session_->write(all)) return false;
        unreported_ = all.size();
        return true;
    }
    RecordSplitter plain(output, span_bio_.plain(), SpanBio::max_record_text,
                         SpanBio::max_text_per_send);
    for (auto bytes = plain.next(); !bytes.empty(); bytes = plain.next()) {
        if (!session_->write(bytes)) return false;
        unreported_ += bytes.size();
    }
    return unreported_ > 0;
}

// Sends the alert that gives the reason, if possible.
std::expected<std::size_t, IoError> TlsStream::fail(const Fd& socket) {
    session_->fail();
    if (!has_unsent()) static_cast<void>(send_bytes(socket, span_bio_.output()));
    span_bio_.clear();
    return std::unexpected(IoError::failed);
}

// Returns how many bytes of records the socket took. The others wait.
std::expected<std::size_t, IoError> TlsStream::flush(const Fd& socket) {
    const bool waited = has_unsent();
    const std::string_view bytes = waited ? unsent_.view() : span_bio_.output();
    const auto sent = send_bytes(socket, bytes);
    if (!sent && sent.error() == IoError::failed) return fail(socket);
    const std::size_t count = sent.value_or(0);
    const std::string_view rest = bytes.substr(count);
    if (waited) {
        unsent_.consume(count);
    } else if (!rest.empty() && !keep_unsent(rest)) {
        span_bio_.clear();
        return fail(socket);
    }
    if (rest.empty()) release_buffers();
    if (!waited) span_bio_.clear();
    return count;
}

// A partly sent record makes all that follows unreadable, so without memory for its rest the
// connection has failed. An alert may follow the rest.
bool TlsStream::keep_unsent(std::string_view bytes) try {
    if (!unsent_) {
        const bool small = bytes.size() + max_alert <= BufferPool::small_size;
        unsent_ = small ? pool_.acquire_small() : pool_.acquire();
    }
    unsent_.append(bytes);
    return true;
} catch (const std::bad_alloc&) {
    return false;
}

void TlsStream::send_close_notify(const Fd& socket) {
    if (finishing_) return;
    session_->close();
    if (span_bio_.output().empty()) return;
    if (has_unsent() && !keep_unsent(span_bio_.output())) session_->fail();
    if (has_unsent()) return span_bio_.clear();
    static_cast<void>(flush(socket));
}

void TlsStream::finish_sending(const Fd& socket) {
    finishing_ = true;
    if (!has_unsent()) half_close(socket);
}

void TlsStream::release_idle_buffers() {
    if (is_open() && !std::exchange(idle_buffers_released_, true)) session_->release_idle_buffers();
}

}  // namespace web
