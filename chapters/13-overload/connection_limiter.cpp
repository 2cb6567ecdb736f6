// TODO(13): what connection_limiter.h declares.
// - of IPv6 a whole /64 counts as one address: RFC 4291 §2.5.4
// - a client that was counted for its address but finds the total exhausted must be uncounted again
// - remove an address that has no clients left, otherwise the addresses fill the memory
