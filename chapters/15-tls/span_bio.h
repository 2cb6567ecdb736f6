// GIVEN(15), for you to use: nothing to write here. Read it first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

struct bio_st;

namespace web {

/// What OpenSSL reads from and writes to in place of a socket: two spans of memory. A worker has
/// one. Its sessions use it one after another, and whoever has used it leaves it empty.
class SpanBio {
public:
    /// The most bytes that a record carries (RFC 8446 §5.1), and that it has itself: TLS 1.2 allows
    /// for 2 KiB more (RFC 5246 §6.2.3).
    static constexpr std::size_t max_record_text = 16 * 1024;
    static constexpr std::size_t max_record = max_record_text + 2048 + 5;
    /// So many bytes become records at once, in a few calls for the largest body. What a socket
    /// does not take of them fits into a buffer of the pool, and an alert behind it.
    static constexpr std::size_t max_text_per_send = 7 * max_record_text;
    static constexpr std::size_t capacity = 127 * 1024;
    static_assert(max_text_per_send / max_record_text * max_record <= capacity);

    /// Throws std::bad_alloc.
    SpanBio();
    SpanBio(const SpanBio&) = delete;
    SpanBio& operator=(const SpanBio&) = delete;
    ~SpanBio();

    /// Where received bytes go: so many at the most.
    std::span<char> receive_buffer(std::size_t limit) {
        return {input_.get(), std::min(limit, capacity)};
    }
    void received(std::size_t count) { unread_ = {input_.get(), count}; }
    bool has_input() const { return !unread_.empty(); }

    /// The next bytes that were received, as many as there are and fit.
    std::size_t read(std::span<char> into);

    /// Bytes for the peer; false if they do not fit.
    bool write(std::string_view bytes);

    std::string_view output() const { return {output_.get(), output_size_}; }
    void clear() {
        unread_ = {};
        output_size_ = 0;
    }

    /// Where bytes can be gathered that share a record, or come from a file.
    std::span<char> plain() { return {plain_.get(), max_record_text + max_text_per_send}; }

    /// The same for OpenSSL. All sessions share it.
    bio_st* bio() const { return bio_; }

private:
    const std::unique_ptr<char[]> input_ = std::make_unique_for_overwrite<char[]>(capacity);
    const std::unique_ptr<char[]> output_ = std::make_unique_for_overwrite<char[]>(capacity);
    const std::unique_ptr<char[]> plain_ =
        std::make_unique_for_overwrite<char[]>(max_record_text + max_text_per_send);
    std::string_view unread_;  // of input_
    std::size_t output_size_ = 0;
    bio_st* bio_ = nullptr;
};

}  // namespace web
