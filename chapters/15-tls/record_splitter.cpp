// TODO(15): what record_splitter.h declares.
// - what lies in one place and is a record's worth, or all there is, is not copied
// - of a file no more is read than will be sent, and nothing behind its end, even if it grows again
#include "record_splitter.h"
