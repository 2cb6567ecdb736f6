#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>

#include "fd.h"
#include "send_ring.h"

namespace web {
namespace {

[[noreturn]] void fail(int error, const char* call) {
    throw std::system_error(error, std::generic_category(), call);
}

// Whether the kernel knows IORING_OP_SEND: io_uring_register(2), IORING_REGISTER_PROBE. The answer
// is an io_uring_probe with an entry for each operation. Kernels without the probe lack the
// operation, too, and say EINVAL.
bool can_send(const Fd& ring) {
    constexpr std::size_t operations = IORING_OP_SEND + 1;
    alignas(io_uring_probe)
        std::array<char, sizeof(io_uring_probe) + operations * sizeof(io_uring_probe_op)>
            probe{};
    const auto result = ::syscall(SYS_io_uring_register, ring.number(), IORING_REGISTER_PROBE,
                                  probe.data(), operations);
    if (result < 0 && errno != EINVAL) fail(errno, "io_uring_register");
    io_uring_probe_op send{};
    std::memcpy(&send, probe.data() + probe.size() - sizeof send, sizeof send);
    return result == 0 && (send.flags & IO_URING_OP_SUPPORTED) != 0;
}

// glibc has no function for this call, nor for the other two.
Fd open_ring(io_uring_params& params) {
    Fd ring(static_cast<int>(::syscall(SYS_io_uring_setup, SendRing::capacity, &params)));
    if (ring.number() < 0) fail(errno, "io_uring_setup");
    if (!(params.features & IORING_FEAT_SINGLE_MMAP) || !can_send(ring)) fail(ENOSYS, "io_uring");
    return ring;
}

/// Memory shared with the kernel: mmap(2).
class Mapping {
public:
    /// Throws std::system_error.
    Mapping(const Fd& ring, std::size_t size, off_t what)
        : start_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        ring.number(), what)),
          size_(size) {
        if (start_ == MAP_FAILED) fail(errno, "mmap");
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() { ::munmap(start_, size_); }

    /// The object `offset` bytes from the start.
    template <typename T>
    T* at(std::size_t offset) const {
        return reinterpret_cast<T*>(static_cast<char*>(start_) + offset);
    }

private:
    void* start_;
    std::size_t size_;
};

std::size_t size_of_rings(const io_uring_params& params) {
    return std::max(params.sq_off.array + params.sq_entries * sizeof(std::uint32_t),
                    params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
}

bool is_temporary(int error) {
    return error == EAGAIN || error == EBUSY || error == ENOMEM;
}

}  // namespace

const bool has_send_ring = true;

/// Both queues. Positions only grow, and wrap at 2^32; a mask turns them into an index. We write
/// the end of the submissions and the start of the completions, and the kernel the others.
struct SendRing::Rings {
    using Position = std::atomic<std::uint32_t>;

    Rings() : Rings(io_uring_params{}) {}

    void submit(std::span<const Send> sends);
    int enter(std::size_t submitted, std::size_t completed) const;
    std::size_t collect(std::span<Send> sends);
    void take_back();

    io_uring_params params;
    Fd ring;
    Mapping queues;   // both queues
    Mapping entries;  // what the submissions' indices refer to
    Position& submissions_begin;
    Position& submissions_end;
    Position& completions_begin;
    Position& completions_end;

private:
    explicit Rings(io_uring_params asked)
        : params(asked),
          ring(open_ring(params)),
          queues(ring, size_of_rings(params), IORING_OFF_SQ_RING),
          entries(ring, params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES),
          submissions_begin(*queues.at<Position>(params.sq_off.head)),
          submissions_end(*queues.at<Position>(params.sq_off.tail)),
          completions_begin(*queues.at<Position>(params.cq_off.head)),
          completions_end(*queues.at<Position>(params.cq_off.tail)) {
        const auto indices = queues.at<std::uint32_t>(params.sq_off.array);
        for (std::uint32_t i = 0; i < params.sq_entries; ++i)
            indices[i] = i;
    }
};

// The kernel sees the entries when it sees the new end, so that is stored last, with release. All
// other members of an entry stay 0, as the kernel has made them.
void SendRing::Rings::submit(std::span<const Send> sends) {
    constexpr std::size_t max_size = std::numeric_limits<std::int32_t>::max();
    const auto all = entries.at<io_uring_sqe>(0);
    std::uint32_t end = submissions_end.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < sends.size(); ++i, ++end) {
        io_uring_sqe& entry = all[end & (params.sq_entries - 1)];
        entry.opcode = IORING_OP_SEND;
        entry.fd = sends[i].fd;
        entry.addr = reinterpret_cast<std::uintptr_t>(sends[i].bytes.data());
        entry.len = static_cast<std::uint32_t>(std::min(sends[i].bytes.size(), max_size));
        entry.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL;
        entry.user_data = i;
    }
    submissions_end.store(end, std::memory_order_release);
}

// Submits that many sends, and waits for that many completions. Returns the number submitted.
int SendRing::Rings::enter(std::size_t submitted, std::size_t completed) const {
    return static_cast<int>(::syscall(SYS_io_uring_enter, ring.number(), submitted, completed,
                                      IORING_ENTER_GETEVENTS, nullptr, 0));
}

// Returns the number of completions.
std::size_t SendRing::Rings::collect(std::span<Send> sends) {
    const auto all = queues.at<io_uring_cqe>(params.cq_off.cqes);
    std::uint32_t begin = completions_begin.load(std::memory_order_relaxed);
    const std::uint32_t end = completions_end.load(std::memory_order_acquire);
    const std::uint32_t count = end - begin;
    for (; begin != end; ++begin) {
        const io_uring_cqe& completion = all[begin & (params.cq_entries - 1)];
        sends[completion.user_data].sent = static_cast<std::size_t>(std::max(completion.res, 0));
    }
    completions_begin.store(begin, std::memory_order_release);
    return count;
}

// The kernel reads submissions only during enter().
void SendRing::Rings::take_back() {
    submissions_end.store(submissions_begin.load(std::memory_order_acquire),
                          std::memory_order_release);
}

SendRing::SendRing() : rings_(std::make_unique<Rings>()) {}

SendRing::~SendRing() = default;

// A submission that the kernel has accepted uses the bytes until its completion is there, so that
// is waited for even if the call fails.
int SendRing::send(std::span<Send> sends) {
    for (Send& each : sends)
        each.sent = 0;
    rings_->submit(sends);
    std::size_t accepted = 0;
    std::size_t completed = 0;
    while (completed < sends.size()) {
        const int result = rings_->enter(sends.size() - accepted, sends.size() - completed);
        const int error = result < 0 ? errno : 0;
        if (result > 0) accepted += static_cast<std::size_t>(result);
        completed += rings_->collect(sends);
        const bool refused = result <= 0 && error != EINTR && completed < sends.size();
        if (refused && completed == accepted) {
            rings_->take_back();
            return is_temporary(error) ? 0 : error;
        }
    }
    return 0;
}

}  // namespace web
