// TODO(13): what address.h declares. Of IPv6 a whole /64 is one network: RFC 4291 §2.5.4.
#include "address.h"
