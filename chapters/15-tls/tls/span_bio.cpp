// TODO(15.2): write what span_bio.h declares.
// - make a BIO with functions of our own (BIO_meth_new(3)): they read from and write to the SpanBio
//   that BIO_set_data(3) has set
// - an empty input is not the end: return -1 with BIO_set_retry_read(3); without space for output
//   return -1 with BIO_set_retry_write(3)
// - of the control commands only BIO_CTRL_FLUSH has to succeed
#include "span_bio.h"
