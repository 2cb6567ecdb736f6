// jemalloc(3), TUNING: read when the program starts. From a megabyte on, memory goes back to the
// system as soon as it is freed. Left alone, jemalloc keeps it for ten seconds of activity, and a
// server that is idle after large bodies has none.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "oversize_threshold:1000000";
}
