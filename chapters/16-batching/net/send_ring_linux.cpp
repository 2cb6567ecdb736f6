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

// TODO(16.1): fill in an entry for each send: IORING_OP_SEND with the flags MSG_DONTWAIT and
// MSG_NOSIGNAL, and its index as user_data. The entries begin at the end of the submissions. Then
// store the new end, with release, so that the kernel sees the entries when it sees the end.
void SendRing::Rings::submit(std::span<const Send>) {}

// Submits that many sends, and waits for that many completions. Returns the number submitted.
int SendRing::Rings::enter(std::size_t submitted, std::size_t completed) const {
    return static_cast<int>(::syscall(SYS_io_uring_enter, ring.number(), submitted, completed,
                                      IORING_ENTER_GETEVENTS, nullptr, 0));
}

// TODO(16.1): set `sent` of each send whose completion is there, and 0 for an error. Store the new
// begin of the completions, so that the kernel may use the entries again. Return their number.
std::size_t SendRing::Rings::collect(std::span<Send>) {
    return 0;
}

// The kernel reads submissions only during enter().
void SendRing::Rings::take_back() {
    submissions_end.store(submissions_begin.load(std::memory_order_acquire),
                          std::memory_order_release);
}

SendRing::SendRing() : rings_(std::make_unique<Rings>()) {}

SendRing::~SendRing() = default;

// TODO(16.1): set each `sent` to 0, call submit() once, and enter() until all sends are completed.
// Tell enter() how many are still to be accepted and how many to be completed. It returns how many
// it has accepted, or -1 with errno; what it hasn't accepted is still in the queue. EINTR is no
// refusal. When the kernel refuses, take_back() what it hasn't accepted, but not before what it
// has accepted is completed, because it uses the bytes until then. Return 0 if all are completed or
// the error is temporary (EAGAIN, EBUSY, ENOMEM), and the error otherwise.
int SendRing::send(std::span<Send>) {
    return ENOSYS;
}

}  // namespace web
