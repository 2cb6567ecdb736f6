// TODO(9): a Handler around the application, which answers with files:
// - path → name → file; a name that is empty or ends with a slash is its index.html
// - a directory without its slash: 301, Location from the name and not from what was sent (it could
//   begin with two slashes, or with a line feed), and the query behind it
// - another method than GET and HEAD on a file: 405 with Allow. But /echo and /sink stay.
// - no file: what the application answers; out of descriptors: 503.
#include "file_handler.h"
