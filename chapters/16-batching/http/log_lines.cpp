#include "log_lines.h"

#include <cstring>
#include <new>

namespace web {
namespace {

/// A client that keeps a larger string after its request was answered would waste memory.
constexpr std::size_t usual_head = 512;

}  // namespace

void LogLines::add(const LogEntry& entry) {
    if (capacity - size_ < max_log_line) {
        ++lost_;
        return;
    }
    char* const end = format_line(bytes_.get() + size_, format_, time_.text(), entry);
    size_ = static_cast<std::size_t>(end - bytes_.get());
}

void LogLines::consume(std::size_t count) {
    size_ -= count;
    std::memmove(bytes_.get(), bytes_.get() + count, size_);
}

ClientLog::ClientLog(LogLines& lines, const Address& address)
    : lines_(&lines), address_(address.text()) {}

void ClientLog::add(const LoggedHead& head, unsigned status, std::size_t bytes) {
    lines_->add({.address = address_.data(), .head = head, .status = status, .bytes = bytes});
}

// Without memory the line simply contains less.
void ClientLog::begin(const LoggedHead& head) try {
    status_ = 0;
    bytes_ = 0;
    line_size_ = referer_size_ = 0;
    kept_.clear();
    waiting_ = true;
    kept_.reserve(head.line.size() + head.referer.size() + head.user_agent.size());
    kept_.append(head.line).append(head.referer).append(head.user_agent);
    line_size_ = head.line.size();
    referer_size_ = head.referer.size();
} catch (const std::bad_alloc&) {
    // The request counts as begun all the same.
}

void ClientLog::end() {
    if (!std::exchange(waiting_, false)) return;
    const std::string_view kept = kept_;
    const std::string_view fields = kept.substr(line_size_);
    const LoggedHead head{.line = kept.substr(0, line_size_),
                          .referer = fields.substr(0, referer_size_),
                          .user_agent = fields.substr(referer_size_)};
    add(head, status_, bytes_);
    if (kept_.capacity() > usual_head) kept_ = std::string();
}

}  // namespace web
