// GIVEN(16.1), for you to use: nothing to write here. Read it first.
#include <cerrno>
#include <system_error>

#include "send_ring.h"

namespace web {

const bool has_send_ring = false;

struct SendRing::Rings {};

SendRing::SendRing() {
    throw std::system_error(ENOSYS, std::generic_category(), "io_uring");
}

SendRing::~SendRing() = default;

int SendRing::send(std::span<Send>) {
    return ENOSYS;
}

}  // namespace web
