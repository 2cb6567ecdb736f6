// TODO(13.1): define what address.h declares. A whole /64 of IPv6 is one network (RFC 4291 §2.5.4).
#include "address.h"
