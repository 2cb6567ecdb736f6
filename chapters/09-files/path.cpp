// TODO(9): resolve(), which makes a name of a path or refuses it. Cut the path at its slashes first
// and decode each segment then, once: a slash that was encoded is no slash of ours.
// - 400: a percent sign without two digits, a control character (NUL among them), `..` above the
//   root, and `..` behind or before a slash that was encoded
// - 404: a segment that begins with a dot and is none of `.` and `..`; one with a slash in it; and
//   what is no path at all, such as `*`
// - the name is never longer than the path, so it can be written where the caller says.
#include "path.h"
