// The server's stands with what opens files, and here nothing does.

#include "file.h"

web::File::~File() = default;
