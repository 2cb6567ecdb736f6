#include "open_file.h"

namespace web {

File::~File() = default;

}  // namespace web
