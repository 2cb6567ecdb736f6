// TODO(15.1): the constructor and the destructor. If there are certificates, make the ticket keys
// and read the certificates; whatever can't be used must end the server before a port is open.
// TODO(15.2): new_session(). The mutex protects only the pointer to the certificates, so copy that
// under the lock, and make the session without it.
// TODO(15.7): reload(). Read new certificates, and replace the old ones only when that has
// succeeded; write the error to the log otherwise.
#include "tls.h"
