// Preloaded into a server (ld.so(8), LD_PRELOAD), it adds an offset to the time of day, which
// another process may change at any time. The monotonic clock stays as it is.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;

// The first eight bytes of the file that CLOCK_OFFSET_FILE names: nanoseconds, written by the other
// process alone.
std::atomic<std::int64_t>* offset_ns = nullptr;

__attribute__((constructor)) void map_offset() {
    const char* name = std::getenv("CLOCK_OFFSET_FILE");
    const int fd = name ? ::open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void* mapped = ::mmap(nullptr, sizeof *offset_ns, PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    if (mapped != MAP_FAILED) offset_ns = static_cast<std::atomic<std::int64_t>*>(mapped);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const auto error = ::syscall(SYS_clock_gettime, clock, time);
    if (error != 0 || !offset_ns) return static_cast<int>(error);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        const auto now = time->tv_sec * ns_per_s + time->tv_nsec + offset_ns->load();
        *time = {.tv_sec = now / ns_per_s, .tv_nsec = now % ns_per_s};
    }
    return 0;
}

extern "C" int gettimeofday(timeval* time, void*) noexcept {
    timespec now{};
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

extern "C" time_t time(time_t* result) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
