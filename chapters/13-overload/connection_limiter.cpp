// TODO(13): what connection_limiter.h declares.
// - a client is counted for the network of its address
// - a client that was counted for its address but finds the total exhausted must be uncounted again
// - remove an address that has no clients left, otherwise the addresses fill the memory
