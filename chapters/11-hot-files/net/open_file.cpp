#include "open_file.h"

namespace web {

File::~File() = default;

// TODO(11.2): take_into_memory(). If the file has become shorter, leave it unchanged.

}  // namespace web
