#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace web {

// What one processor takes from another at a time, in bytes.
#if defined(__APPLE__) && defined(__aarch64__)
inline constexpr std::size_t cache_line = 128;
#else
inline constexpr std::size_t cache_line = 64;
#endif

// First in, first out, from one thread to one other, with room for `capacity` elements, 1 or more.
// push() and pop() are wait-free: neither has a loop, and neither waits for the other thread.
template <class T>
class SpscQueue {
public:
    // Allocates all that it will ever need; std::bad_alloc if it cannot.
    explicit SpscQueue(std::size_t capacity) : places_(capacity + 1), ring_(places_) {}

    // By the producer only. False while the queue is full, and then the value is not moved from.
    bool push(T&& value) noexcept {
        static_assert(std::is_nothrow_move_constructible_v<T>);
        // Relaxed: this thread alone stores it.
        const std::size_t at = in_.at.load(std::memory_order_relaxed);
        const std::size_t after = behind(at);
        if (after == in_.seen) {
            // Acquire, the partner of pop()'s store: what stood there has been moved out.
            in_.seen = out_.at.load(std::memory_order_acquire);
            if (after == in_.seen) {
                return false;
            }
        }
        ring_[at].emplace(std::move(value));
        // Release, for pop()'s load: who sees that it is there sees the whole element.
        in_.at.store(after, std::memory_order_release);
        return true;
    }

    // By the consumer only. Nothing while the queue is empty.
    std::optional<T> pop() noexcept {
        // Relaxed: this thread alone stores it.
        const std::size_t at = out_.at.load(std::memory_order_relaxed);
        if (at == out_.seen) {
            // Acquire, the partner of push()'s store.
            out_.seen = in_.at.load(std::memory_order_acquire);
            if (at == out_.seen) {
                return std::nullopt;
            }
        }
        std::optional<T> value = std::move(ring_[at]);
        ring_[at].reset();
        // Release, for push()'s load: who sees the place free may write there.
        out_.at.store(behind(at), std::memory_order_release);
        return value;
    }

private:
    // One thread writes it, on a line of its own: where it is, and where it last saw the other.
    struct alignas(cache_line) End {
        std::atomic<std::size_t> at = 0;
        std::size_t seen = 0;
    };
    static_assert(sizeof(End) == cache_line);

    std::size_t behind(std::size_t at) const noexcept { return at + 1 == places_ ? 0 : at + 1; }

    const std::size_t places_;  // one is always free, so that full is not empty
    std::vector<std::optional<T>> ring_;
    End in_;
    End out_;
};

// How many threads there are at an end of a queue.
enum class Threads { one, many };

// First in, first out, for several threads at one end or at both, with room for `capacity`
// elements, 1 or more. Who comes to an end draws a ticket, which names a cell. A thread that is
// alone there is wait-free; of many, one always gets a ticket. But the queue is not lock-free:
// between a ticket and the end of its move a thread holds the cell, and if it is suspended there,
// pop() finds nothing behind it, and push() no room, until it goes on.
template <class T, Threads producers, Threads consumers>
class TicketQueue {
public:
    // Allocates all that it will ever need; std::bad_alloc if it cannot.
    explicit TicketQueue(std::size_t capacity) : capacity_(capacity), cells_(capacity) {
        for (std::uint64_t ticket = 0; ticket < capacity; ++ticket) {
            // Relaxed: who hands the queue to a thread orders this before all that thread does.
            cells_[ticket].turn.store(free_for(ticket), std::memory_order_relaxed);
        }
    }

    // False while its cell is not free, and then the value is not moved from.
    bool push(T&& value) noexcept {
        static_assert(std::is_nothrow_move_constructible_v<T>);
        std::uint64_t ticket;
        Cell* const cell = draw<producers>(pushed_, ticket, free_for);
        if (!cell) {
            return false;
        }
        cell->value.emplace(std::move(value));
        // Release, for draw()'s load in pop(): who sees it full sees the whole element.
        cell->turn.store(full_for(ticket), std::memory_order_release);
        return true;
    }

    // Nothing while its cell is not full.
    std::optional<T> pop() noexcept {
        std::uint64_t ticket;
        Cell* const cell = draw<consumers>(popped_, ticket, full_for);
        if (!cell) {
            return std::nullopt;
        }
        std::optional<T> value = std::move(cell->value);
        cell->value.reset();
        // Release, for draw()'s load in push(): who sees it free may write there.
        cell->turn.store(free_for(ticket + capacity_), std::memory_order_release);
        return value;
    }

private:
    struct Cell {
        std::atomic<std::uint64_t> turn;  // free or full, and for which ticket
        std::optional<T> value;
    };

    // A line for each end: both are written at every element, by different threads.
    struct alignas(cache_line) Tickets {
        std::atomic<std::uint64_t> next = 0;
    };
    static_assert(sizeof(Tickets) == cache_line);

    static std::uint64_t free_for(std::uint64_t ticket) noexcept { return 2 * ticket; }
    static std::uint64_t full_for(std::uint64_t ticket) noexcept { return 2 * ticket + 1; }

    // The next ticket's cell, which is this thread's from now on; null if it is not its turn yet.
    template <Threads threads, class Turn>
    Cell* draw(Tickets& tickets, std::uint64_t& ticket, Turn turn_of) noexcept {
        // Relaxed, here and below: only the number counts, all else is ordered by the turns.
        ticket = tickets.next.load(std::memory_order_relaxed);
        while (true) {
            Cell& cell = cells_[ticket % capacity_];
            // Acquire, the partner of the last store to it, by pop() for push() and vice versa.
            const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
            const auto ahead = static_cast<std::int64_t>(turn - turn_of(ticket));
            if (ahead < 0) {
                return nullptr;
            }
            if constexpr (threads == Threads::one) {
                tickets.next.store(ticket + 1, std::memory_order_relaxed);
                return &cell;
            } else if (ahead > 0) {
                ticket = tickets.next.load(std::memory_order_relaxed);
            } else if (tickets.next.compare_exchange_weak(ticket, ticket + 1,
                                                          std::memory_order_relaxed)) {
                return &cell;
            }
        }
    }

    const std::uint64_t capacity_;
    std::vector<Cell> cells_;
    Tickets pushed_;
    Tickets popped_;
};

template <class T>
using MpscQueue = TicketQueue<T, Threads::many, Threads::one>;
template <class T>
using SpmcQueue = TicketQueue<T, Threads::one, Threads::many>;
template <class T>
using MpmcQueue = TicketQueue<T, Threads::many, Threads::many>;

}  // namespace web
