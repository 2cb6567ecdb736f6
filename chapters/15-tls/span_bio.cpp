// TODO(15): what span_bio.h declares.
// - a BIO of our own (BIO_meth_new(3)): read and write use the wire that BIO_set_data(3) named
// - nothing to read is not the end: return -1, with BIO_set_retry_read(3); no space is -1, with a
//   retry to write
// - of the commands only BIO_CTRL_FLUSH has to succeed
#include "span_bio.h"
