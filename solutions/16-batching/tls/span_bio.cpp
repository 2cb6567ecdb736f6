#include "span_bio.h"

#include <openssl/bio.h>

#include <cstring>
#include <new>

namespace web {
namespace {

SpanBio& span_bio_of(BIO* bio) {
    return *static_cast<SpanBio*>(BIO_get_data(bio));
}

// BIO_meth_new(3): no input means "try again", not the end.
int read_from_spans(BIO* bio, char* into, int size) {
    const std::size_t count = span_bio_of(bio).read({into, static_cast<std::size_t>(size)});
    BIO_clear_retry_flags(bio);
    if (count > 0) return static_cast<int>(count);
    BIO_set_retry_read(bio);
    return -1;
}

int write_to_span(BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    if (span_bio_of(bio).write({bytes, static_cast<std::size_t>(size)})) return size;
    BIO_set_retry_write(bio);
    return -1;
}

// Only a flush has to succeed.
long control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* make_method() {
    BIO_METHOD* const method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wire");
    if (!method) throw std::bad_alloc();
    BIO_meth_set_read(method, read_from_spans);
    BIO_meth_set_write(method, write_to_span);
    BIO_meth_set_ctrl(method, control);
    return method;
}

}  // namespace

SpanBio::SpanBio() {
    static BIO_METHOD* const method = make_method();
    bio_ = BIO_new(method);
    if (!bio_) throw std::bad_alloc();
    BIO_set_data(bio_, this);
    BIO_set_init(bio_, 1);
}

SpanBio::~SpanBio() {
    BIO_free(bio_);
}

std::size_t SpanBio::read(std::span<char> into) {
    const std::size_t count = unread_.copy(into.data(), into.size());
    unread_.remove_prefix(count);
    return count;
}

bool SpanBio::write(std::string_view bytes) {
    if (capacity - output_size_ < bytes.size()) return false;
    std::memcpy(output_.get() + output_size_, bytes.data(), bytes.size());
    output_size_ += bytes.size();
    return true;
}

}  // namespace web
