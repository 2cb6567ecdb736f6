// TODO(9): a Handler around the application, which answers with files:
// - GET and HEAD: path → name → file; a name that is empty or ends with a slash means its
//   index.html
// - a directory without its slash: 301, Location made from the name and not from the path sent
//   (which could begin with two slashes, or contain a line feed), followed by the query
// - another method: ask the application first, so that /echo and /sink still work. If it answers
//   404, go on as for GET; but a file is a 405 with Allow
// - no file: the application's answer; FileError::exhausted: 503.
#include "file_handler.h"
