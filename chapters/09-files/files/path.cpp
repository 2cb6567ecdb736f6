// TODO(9.2): resolve(), which converts a path to a name or refuses it. Split the path at its
// slashes first and then decode each segment, once: an encoded slash is not a separator.
// - 400: a percent sign without two digits, a control character (NUL among them), `..` above the
//   root, and `..` before or after an encoded slash
// - 404: a segment that begins with a dot and is neither `.` nor `..`; a segment that contains a
//   slash; and anything that is not a path, such as `*`
// - the name is never longer than the path, so it can be written to the caller's buffer.
#include "path.h"
