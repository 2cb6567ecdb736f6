#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

struct bio_st;

namespace web {

/// Two spans of memory that OpenSSL reads from and writes to instead of a socket. Each worker has
/// one. Its sessions use it in turn, and each must leave it empty.
class SpanBio {
public:
    /// The maximum plain bytes in a record (RFC 8446 §5.1), and the maximum size of the record: TLS
    /// 1.2 allows 2 KiB more (RFC 5246 §6.2.3).
    static constexpr std::size_t max_record_text = 16 * 1024;
    static constexpr std::size_t max_record = max_record_text + 2048 + 5;
    /// The number of bytes encrypted at once, so that the largest body takes a few calls. What a
    /// socket doesn't take of the records, and an alert after them, fits into a buffer of the pool.
    static constexpr std::size_t max_text_per_send = 7 * max_record_text;
    static constexpr std::size_t capacity = 127 * 1024;
    static_assert(max_text_per_send / max_record_text * max_record <= capacity);

    /// Throws std::bad_alloc.
    SpanBio();
    SpanBio(const SpanBio&) = delete;
    SpanBio& operator=(const SpanBio&) = delete;
    ~SpanBio();

    /// Where to put received bytes, at most `limit` of them.
    std::span<char> receive_buffer(std::size_t limit) {
        return {input_.get(), std::min(limit, capacity)};
    }
    void received(std::size_t count) { unread_ = {input_.get(), count}; }
    bool has_input() const { return !unread_.empty(); }

    /// Takes the next received bytes, as many as there are and fit.
    std::size_t read(std::span<char> into);

    /// Adds bytes for the peer. False if they don't fit.
    bool write(std::string_view bytes);

    std::string_view output() const { return {output_.get(), output_size_}; }
    void clear() {
        unread_ = {};
        output_size_ = 0;
    }

    /// Space to gather bytes that share a record or come from a file.
    std::span<char> plain() { return {plain_.get(), max_record_text + max_text_per_send}; }

    /// OpenSSL's view of it. Shared by all sessions.
    bio_st* bio() const { return bio_; }

private:
    const std::unique_ptr<char[]> input_ = std::make_unique_for_overwrite<char[]>(capacity);
    const std::unique_ptr<char[]> output_ = std::make_unique_for_overwrite<char[]>(capacity);
    const std::unique_ptr<char[]> plain_ =
        std::make_unique_for_overwrite<char[]>(max_record_text + max_text_per_send);
    std::string_view unread_;  // the part of input_ not read yet
    std::size_t output_size_ = 0;
    bio_st* bio_ = nullptr;
};

}  // namespace web
