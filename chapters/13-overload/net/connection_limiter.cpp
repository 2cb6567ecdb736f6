// TODO(13.1): define what connection_limiter.h declares.
// - A client is counted for the network of its address.
// - A client that was counted for its address must be uncounted again if the total is exhausted.
// - Remove an address that has no clients left. Otherwise the addresses fill the memory.
