// Replaces the server's function, which is in the same file as the code that opens files; the
// fuzzer opens none.

#include "file.h"

web::File::~File() = default;
