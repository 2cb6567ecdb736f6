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

bool PlainText::read_file() {
    if (!file_ || file_had_ == file_->size) return false;
    const std::size_t wanted = std::min({file_->size - file_had_, left_, window_.size()});
    const std::size_t had = read_at(file_->file.fd(), file_->offset + static_cast<off_t>(file_had_),
                                    window_.first(wanted));
    if (had < wanted) file_ = nullptr;  // it has become shorter: that was all
    file_had_ += had;
    run_ = {window_.data(), had};
    return had > 0;
}

}  // namespace web
