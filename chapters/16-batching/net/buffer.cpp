#include "buffer.h"

#include <algorithm>

namespace web {

// Grows geometrically, so that each byte is moved once on average, however large the buffer gets.
void Buffer::grow_or_compact(std::size_t count) {
    const std::string_view held = view();
    if (capacity() - held.size() >= count) {
        std::memmove(bytes(), held.data(), held.size());
        block_->begin = 0;
        block_->end = held.size();
        return;
    }
    Buffer larger(std::max(held.size() + count, 2 * capacity()));
    std::copy(held.begin(), held.end(), larger.bytes());
    larger.block_->end = held.size();
    *this = std::move(larger);
}

}  // namespace web
