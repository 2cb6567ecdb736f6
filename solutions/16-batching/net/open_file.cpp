#include "open_file.h"

#include <memory>
#include <utility>

namespace web {

File::~File() {
    if (contents_ && --contents_->users == 0) delete contents_;
}

bool take_into_memory(OpenFile& file) {
    const auto size = static_cast<std::size_t>(file.version.size);
    auto bytes = std::make_unique_for_overwrite<char[]>(size);
    const ssize_t had = ::pread(file.file.fd().number(), bytes.get(), size, 0);
    if (had < 0 || static_cast<std::size_t>(had) != size) return false;
    file.file = File(std::move(bytes));
    return true;
}

}  // namespace web
