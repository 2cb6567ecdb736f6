// GIVEN(9.3), for you to use: nothing to write here. Read it first.
#include "open_file.h"

namespace web {

File::~File() = default;

}  // namespace web
