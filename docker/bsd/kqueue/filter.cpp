#include "filter.h"

#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

namespace hotpath {
namespace {

constexpr unsigned short lasting_flags = EV_ONESHOT | EV_CLEAR | EV_RECEIPT | EV_DISPATCH;

[[noreturn]] void fail(const char* call) {
    throw std::system_error(errno, std::generic_category(), call);
}

}  // namespace

Filter::Filter(const FilterOps& ops, int queue, std::uint32_t index)
    : ops_(ops), queue_(queue), index_(index), set_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (set_.number() < 0) fail("epoll_create1");
    if (!enter_queue(set_)) fail("epoll_ctl");
}

int Filter::apply(const struct kevent& change) {
    constexpr unsigned short both = EV_ENABLE | EV_DISABLE;
    if ((change.flags & both) == both) return EINVAL;
    Note* note = find(change.ident);
    if (note == nullptr) {
        return (change.flags & EV_ADD) != 0 ? add(change) : missing(change.ident);
    }
    if ((change.flags & EV_DELETE) == 0) return modify(*note, change);
    remove(*note);
    return 0;
}

// "Calling close() on a file descriptor will remove any kevents that reference the descriptor":
// they are removed here, when the number is next used.
Note* Filter::find(std::uintptr_t ident) {
    const auto serial = serials_.find(ident);
    if (serial == serials_.end()) return nullptr;
    Note& note = notes_.at(serial->second);
    if (note.is_current()) return &note;
    remove(note);
    return nullptr;
}

int Filter::missing(std::uintptr_t ident) const {
    if (!ops_.watches_descriptors) return ENOENT;
    return file_of(static_cast<int>(ident)) ? ENOENT : EBADF;
}

int Filter::add(const struct kevent& change) {
    const bool no_descriptor = change.ident > std::numeric_limits<int>::max();
    if (ops_.watches_descriptors && no_descriptor) return EBADF;
    Note note{.event = change, .serial = next_serial_++, .own = {}, .file = {}};
    note.event.flags &= lasting_flags | EV_DISABLE;
    if (const int error = ops_.change(note, change)) return error;
    note.file = file_of(note.source());
    int error = control(EPOLL_CTL_ADD, note);
    // The file had this number before, and a duplicate has kept it open.
    if (error == EEXIST) error = control(EPOLL_CTL_MOD, note);
    // epoll_ctl(2) returns EPERM for files that are always ready, such as regular files.
    if (error != 0) return error == EPERM ? EINVAL : error;
    serials_[change.ident] = note.serial;
    notes_.emplace(note.serial, std::move(note));
    return 0;
}

// Like FreeBSD's kqueue_register(): the note keeps the lasting flags it was created with, and only
// EV_ENABLE enables it, whether or not EV_ADD is set. A change with EPOLL_CTL_MOD makes epoll check
// readiness again, as a kernel runs the filter on every change.
int Filter::modify(Note& note, const struct kevent& change) {
    if (const int error = ops_.change(note, change)) return error;
    struct kevent& event = note.event;
    if ((change.flags & EV_ENABLE) != 0) event.flags &= static_cast<unsigned short>(~EV_DISABLE);
    if ((change.flags & EV_DISABLE) != 0) event.flags |= EV_DISABLE;
    event.udata = change.udata;
    const int error = control(EPOLL_CTL_MOD, note);
    if (error != ENOENT) return error;
    remove(note);  // another eventfd(2) has got this number
    return (change.flags & EV_ADD) != 0 ? add(change) : ENOENT;
}

void Filter::remove(const Note& note) {
    control(EPOLL_CTL_DEL, note);
    const std::uint64_t serial = note.serial;
    serials_.erase(note.event.ident);
    notes_.erase(serial);
}

std::size_t Filter::collect(std::span<struct kevent> events) {
    ready_.resize(events.size());
    const int max_events = static_cast<int>(events.size());
    const int count = ::epoll_wait(set_.number(), ready_.data(), max_events, 0);
    std::size_t filled = 0;
    for (int i = 0; i < count; ++i)
        if (report(ready_[static_cast<std::size_t>(i)], events[filled])) ++filled;
    if (std::exchange(has_strays_, false)) rebuild();
    return filled;
}

bool Filter::report(const epoll_event& ready, struct kevent& event) {
    const std::uint64_t serial = ready.data.u64;  // copied, because epoll_event is packed
    const auto found = notes_.find(serial);
    if (found == notes_.end() || !found->second.is_current()) {
        has_strays_ = true;
        return false;
    }
    Note& note = found->second;
    if (!note.enabled()) return false;
    struct kevent news = note.event;
    news.fflags = 0;
    if (!ops_.report(note, ready.events, news)) return false;
    event = news;
    if ((note.event.flags & EV_ONESHOT) != 0) {
        remove(note);
    } else if ((note.event.flags & EV_DISPATCH) != 0) {
        note.event.flags |= EV_DISABLE;
        control(EPOLL_CTL_MOD, note);
    }
    return true;
}

void Filter::learn_error(std::uintptr_t ident, int error) {
    const auto serial = serials_.find(ident);
    if (serial != serials_.end()) notes_.at(serial->second).error = error;
}

// epoll_ctl(2): errors and hang-ups are reported even if they were not requested. A disabled note
// stays registered, so that we notice when its file is closed, but edge-triggered, so that it does
// not wake a thread twice. Reading a timer or a user event clears it.
std::uint32_t Filter::interest(const Note& note) const {
    if (!note.enabled()) return EPOLLET;
    const bool clear = ops_.watches_descriptors && (note.event.flags & EV_CLEAR) != 0;
    return clear ? ops_.interest | EPOLLET : ops_.interest;
}

int Filter::control(int operation, const Note& note) const {
    epoll_event event{};
    event.events = interest(note);
    event.data.u64 = note.serial;
    return ::epoll_ctl(set_.number(), operation, note.source(), &event) == 0 ? 0 : errno;
}

bool Filter::enter_queue(const Descriptor& set) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = index_;
    return ::epoll_ctl(queue_, EPOLL_CTL_ADD, set.number(), &event) == 0;
}

// A descriptor was closed while a duplicate keeps its file open. epoll goes on reporting the file,
// and without the descriptor it cannot be removed from the set (epoll(7), question 6). So the notes
// that are left move to a new set, or stay if no new set can be created. Notes with EV_CLEAR that
// are ready are reported once more.
void Filter::rebuild() {
    Descriptor set(::epoll_create1(EPOLL_CLOEXEC));
    if (set.number() < 0 || !enter_queue(set)) return;
    std::erase_if(serials_, [this](const auto& entry) {
        const auto note = notes_.find(entry.second);
        const bool stale = !note->second.is_current();
        if (stale) notes_.erase(note);
        return stale;
    });
    std::swap(set_, set);
    for (const auto& [serial, note] : notes_)
        control(EPOLL_CTL_ADD, note);
}

}  // namespace hotpath
