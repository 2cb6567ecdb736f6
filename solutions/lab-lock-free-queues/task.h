#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace web {

// The unit, in bytes, in which processors take memory from each other.
#if defined(__APPLE__) && defined(__aarch64__)
inline constexpr std::size_t cache_line = 128;
#else
inline constexpr std::size_t cache_line = 64;
#endif

// First in, first out, from one thread to one other. Holds up to `capacity` elements, 1 or more.
// push() and pop() are wait-free: neither has a loop, and neither waits for the other thread.
template <class T>
class SpscQueue {
public:
    // Allocates all memory that it will ever need. Throws std::bad_alloc.
    explicit SpscQueue(std::size_t capacity) : places_(capacity + 1), ring_(places_) {}

    // Called by the producer only. Returns false if the queue is full; the value is then not moved
    // from.
    bool push(T&& value) noexcept {
        static_assert(std::is_nothrow_move_constructible_v<T>);
        // Relaxed: only this thread stores it.
        const std::size_t at = in_.at.load(std::memory_order_relaxed);
        const std::size_t after = behind(at);
        if (after == in_.seen) {
            // Acquire, paired with the store in pop(): the previous element has been moved out of
            // the place.
            in_.seen = out_.at.load(std::memory_order_acquire);
            if (after == in_.seen) {
                return false;
            }
        }
        ring_[at].emplace(std::move(value));
        // Release, paired with the load in pop(): a consumer that sees the new index sees the whole
        // element.
        in_.at.store(after, std::memory_order_release);
        return true;
    }

    // Called by the consumer only. Returns nothing if the queue is empty.
    std::optional<T> pop() noexcept {
        // Relaxed: only this thread stores it.
        const std::size_t at = out_.at.load(std::memory_order_relaxed);
        if (at == out_.seen) {
            // Acquire, paired with the store in push().
            out_.seen = in_.at.load(std::memory_order_acquire);
            if (at == out_.seen) {
                return std::nullopt;
            }
        }
        std::optional<T> value = std::move(ring_[at]);
        ring_[at].reset();
        // Release, paired with the load in push(): a producer that sees the place free may write to
        // it.
        out_.at.store(behind(at), std::memory_order_release);
        return value;
    }

private:
    // Written by one thread only, so on its own cache line: its own index, and the last one it saw
    // of the other end.
    struct alignas(cache_line) End {
        std::atomic<std::size_t> at = 0;
        std::size_t seen = 0;
    };
    static_assert(sizeof(End) == cache_line);

    std::size_t behind(std::size_t at) const noexcept { return at + 1 == places_ ? 0 : at + 1; }

    const std::size_t places_;  // one place is always free, so that full and empty differ
    std::vector<std::optional<T>> ring_;
    End in_;
    End out_;
};

// The number of threads at one end of a queue.
enum class Threads { one, many };

// First in, first out, for several threads at one end or at both. Holds up to `capacity` elements,
// 1 or more. A thread draws a ticket, which names a cell. A thread that is alone at its end is
// wait-free; of many threads, one always gets a ticket. But the queue is not lock-free: from
// drawing its ticket until it has moved the element, a thread holds the cell. If it is suspended
// there, pop() finds nothing after that cell, and push() finds no free cell, until the thread
// continues.
template <class T, Threads producers, Threads consumers>
class TicketQueue {
public:
    // Allocates all memory that it will ever need. Throws std::bad_alloc.
    explicit TicketQueue(std::size_t capacity) : capacity_(capacity), cells_(capacity) {
        for (std::uint64_t ticket = 0; ticket < capacity; ++ticket) {
            // Relaxed: handing the queue to another thread orders this before everything that
            // thread does.
            cells_[ticket].turn.store(free_for(ticket), std::memory_order_relaxed);
        }
    }

    // Returns false if its cell is not free; the value is then not moved from.
    bool push(T&& value) noexcept {
        static_assert(std::is_nothrow_move_constructible_v<T>);
        std::uint64_t ticket;
        Cell* const cell = draw<producers>(pushed_, ticket, free_for);
        if (!cell) {
            return false;
        }
        cell->value.emplace(std::move(value));
        // Release, paired with the load of draw() in pop(): a consumer that sees the cell full sees
        // the whole element.
        cell->turn.store(full_for(ticket), std::memory_order_release);
        return true;
    }

    // Returns nothing if its cell is not full.
    std::optional<T> pop() noexcept {
        std::uint64_t ticket;
        Cell* const cell = draw<consumers>(popped_, ticket, full_for);
        if (!cell) {
            return std::nullopt;
        }
        std::optional<T> value = std::move(cell->value);
        cell->value.reset();
        // Release, paired with the load of draw() in push(): a producer that sees the cell free may
        // write to it.
        cell->turn.store(free_for(ticket + capacity_), std::memory_order_release);
        return value;
    }

private:
    struct Cell {
        std::atomic<std::uint64_t> turn;  // free or full, and for which ticket
        std::optional<T> value;
    };

    // A cache line for each end: both counters are written for every element, by different threads.
    struct alignas(cache_line) Tickets {
        std::atomic<std::uint64_t> next = 0;
    };
    static_assert(sizeof(Tickets) == cache_line);

    static std::uint64_t free_for(std::uint64_t ticket) noexcept { return 2 * ticket; }
    static std::uint64_t full_for(std::uint64_t ticket) noexcept { return 2 * ticket + 1; }

    // The cell of the next ticket, which belongs to this thread from now on, or null if the cell is
    // not ready for that ticket yet.
    template <Threads threads, class Turn>
    Cell* draw(Tickets& tickets, std::uint64_t& ticket, Turn turn_of) noexcept {
        // Relaxed, here and below: only the number matters; `turn` orders everything else.
        ticket = tickets.next.load(std::memory_order_relaxed);
        while (true) {
            Cell& cell = cells_[ticket % capacity_];
            // Acquire, paired with the last store to it: that of pop() for push() and vice versa.
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
