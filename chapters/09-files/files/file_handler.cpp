// TODO(9.2): a Handler around the application. It resolves the path of GET and HEAD requests and
// refuses a path that resolve() refuses. The application answers all others for now.
// TODO(9.3): answer GET and HEAD with the file, if there is one: its media type, and its bytes in a
// std::string. A name that is empty or ends with a slash means the index.html in that directory.
// TODO(9.4): answer when there is no file to send:
// - a directory without its slash: 301, Location made from the name and not from the path sent
//   (which could begin with two slashes, or contain a line feed), followed by the query
// - another method: ask the application first, so that /echo and /sink still work. If it answers
//   404, go on as for GET; but a file is a 405 with Allow
// - no file: the application's answer; FileError::exhausted: 503.
// TODO(9.5): hand the file itself to the response.
#include "file_handler.h"
