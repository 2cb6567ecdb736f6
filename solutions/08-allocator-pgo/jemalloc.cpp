// jemalloc(3), TUNING: read when the program starts. Left alone, jemalloc gives memory back over
// ten seconds and while it is called; a server that is idle after large bodies doesn't call it. So
// a thread of jemalloc's gives back what nobody has used for half a second.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "background_thread:true,dirty_decay_ms:500";
}
