#include "plain_text.h"

#include <algorithm>

#include "files.h"

namespace web {

PlainText::PlainText(const Output& output, std::span<char> room, std::size_t of_record,
                     std::size_t most)
    : parts_(output.bytes),
      file_(output.file),
      gathered_(room.first(of_record)),
      window_(room.subspan(of_record)),
      left_(most) {}

// What lies in one place goes out from there, if it is a record's worth or all there is.
std::string_view PlainText::next() {
    const std::size_t most = gathered_.size();
    std::string_view bytes = take(most);
    if (bytes.size() == most || !refill()) return bytes;
    std::size_t count = 0;
    for (; !bytes.empty(); bytes = take(most - count))
        count += bytes.copy(&gathered_[count], bytes.size());
    return {gathered_.data(), count};
}

std::string_view PlainText::take(std::size_t most) {
    if (!refill()) return {};
    const std::string_view bytes = run_.substr(0, std::min(most, left_));
    run_.remove_prefix(bytes.size());
    left_ -= bytes.size();
    return bytes;
}

bool PlainText::refill() {
    while (run_.empty() && left_ > 0 && !parts_.empty()) {
        run_ = {static_cast<const char*>(parts_.front().iov_base), parts_.front().iov_len};
        parts_ = parts_.subspan(1);
    }
    return left_ > 0 && (!run_.empty() || read_file());
}

// Once: there is room for all that is wanted of it.
bool PlainText::read_file() {
    if (!file_) return false;
    const auto wanted = window_.first(std::min(file_->size, left_));
    run_ = {window_.data(), read_at(file_->file.fd(), file_->offset, wanted)};
    file_ = nullptr;
    return !run_.empty();
}

}  // namespace web
