// TODO(15.5): write what record_splitter.h declares.
// - bytes that are contiguous and fill a record, or are all there is, are not copied
// - never read more of a file than will be sent, and nothing after its original end, even if it
//   grows again
#include "record_splitter.h"
