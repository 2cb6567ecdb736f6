#include "record_splitter.h"

#include <algorithm>

#include "files.h"

namespace web {

RecordSplitter::RecordSplitter(const Output& output, std::span<char> scratch, std::size_t of_record,
                               std::size_t limit)
    : parts_(output.bytes),
      file_(output.file),
      gathered_(scratch.first(of_record)),
      window_(scratch.subspan(of_record)),
      left_(limit) {}

// Contiguous bytes are sent without a copy if they fill a record or are all there is.
std::string_view RecordSplitter::next() {
    const std::size_t limit = gathered_.size();
    std::string_view bytes = take(limit);
    if (bytes.size() == limit || !refill()) return bytes;
    std::size_t count = 0;
    for (; !bytes.empty(); bytes = take(limit - count))
        count += bytes.copy(&gathered_[count], bytes.size());
    return {gathered_.data(), count};
}

std::string_view RecordSplitter::take(std::size_t limit) {
    if (!refill()) return {};
    const std::string_view bytes = run_.substr(0, std::min(limit, left_));
    run_.remove_prefix(bytes.size());
    left_ -= bytes.size();
    return bytes;
}

bool RecordSplitter::refill() {
    while (run_.empty() && left_ > 0 && !parts_.empty()) {
        run_ = {static_cast<const char*>(parts_.front().iov_base), parts_.front().iov_len};
        parts_ = parts_.subspan(1);
    }
    return left_ > 0 && (!run_.empty() || read_file());
}

// Called once, because there is space for everything that will be sent of the file.
bool RecordSplitter::read_file() {
    if (!file_) return false;
    const auto wanted = window_.first(std::min(file_->size, left_));
    run_ = {window_.data(), read_at(file_->file.fd(), file_->offset, wanted)};
    file_ = nullptr;
    return !run_.empty();
}

}  // namespace web
