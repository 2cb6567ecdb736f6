// TODO(9): a Handler around the application, which answers with files:
// - GET and HEAD: path → name → file; a name that is empty or ends with a slash is its index.html
// - a directory without its slash: 301, Location from the name and not from what was sent (it could
//   begin with two slashes, or with a line feed), and the query behind it
// - another method: ask the application first, so that /echo and /sink stay. If it says 404, go on
//   as for GET; but a file is a 405 with Allow
// - no file: what the application answers; FileError::exhausted: 503.
#include "file_handler.h"
