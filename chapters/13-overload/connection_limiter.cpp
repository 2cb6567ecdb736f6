// TODO(13): what connection_limiter.h declares.
// - of IPv6 a whole /64 counts as one address: RFC 4291 §2.5.4
// - who is counted in for its address and then finds no place in all must be counted out again
// - an address without clients is forgotten, or addresses are what fills the memory
