#pragma once

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace web {

// Makes and ends the objects of one type, for all threads, in memory that it keeps. A thread has
// free places of its own and shares nothing while they last. What it has too many of goes to all, a
// whole batch at a time; when it ends, it leaves them all that it had.
template <class T>
class ObjectPool {
public:
    static constexpr std::size_t batch_size = 64;
    static constexpr std::size_t most_of_a_thread = 2 * batch_size;

    template <class... Arguments>
    static T* create(Arguments&&... arguments) {
        void* memory = take();
        try {
            return ::new (memory) T(std::forward<Arguments>(arguments)...);
        } catch (...) {
            give(memory);
            throw;
        }
    }

    // By any thread, also one that made none.
    static void destroy(T* object) noexcept {
        object->~T();
        give(object);
    }

    // Free places that this thread has.
    static std::size_t free_here() noexcept { return mine_.now.size + mine_.full.size; }

    // Free places that are nobody's.
    static std::size_t free_for_all() noexcept { return shared().size(); }

private:
    // What stands in a place while no object does.
    struct Place {
        Place* next;
        Place* next_batch;  // of the first place of a batch that is nobody's
    };

    struct alignas(std::max(alignof(T), alignof(Place))) Room {
        std::byte bytes[std::max(sizeof(T), sizeof(Place))];
    };

    // To the address sanitizer a free place is no memory: whoever uses it is found out.
    struct Batch {
        Place* first = nullptr;
        std::size_t size = 0;

        void push(void* memory) noexcept {
            first = ::new (memory) Place{first, nullptr};
            ++size;
            ASAN_POISON_MEMORY_REGION(memory, sizeof(Room));
        }

        void* pop() noexcept {
            ASAN_UNPOISON_MEMORY_REGION(first, sizeof(Room));
            --size;
            return std::exchange(first, first->next);
        }
    };

    // One that is being filled or emptied, and one that is full or empty: a thread that makes and
    // ends an object in turn where one batch ends asks the others for nothing.
    struct Mine {
        Batch now;
        Batch full;

        ~Mine() {
            shared().put_rest(now);
            shared().put_rest(full);
        }
    };

    struct Block {
        Block* next;
        Room rooms[batch_size];
    };

    class Shared {
    public:
        Batch get() {
            const std::lock_guard lock(mutex_);
            if (Place* const first = whole_) {
                ASAN_UNPOISON_MEMORY_REGION(first, sizeof(Room));
                whole_ = first->next_batch;
                ASAN_POISON_MEMORY_REGION(first, sizeof(Room));
                --count_;
                return {first, batch_size};
            }
            return rest_.size > 0 ? std::exchange(rest_, {}) : more();
        }

        void put(Batch batch) noexcept {
            const std::lock_guard lock(mutex_);
            put_whole(batch);
        }

        void put_rest(Batch batch) noexcept {
            const std::lock_guard lock(mutex_);
            while (batch.size > 0) {
                rest_.push(batch.pop());
                if (rest_.size == batch_size) {
                    put_whole(std::exchange(rest_, {}));
                }
            }
        }

        std::size_t size() noexcept {
            const std::lock_guard lock(mutex_);
            return count_ * batch_size + rest_.size;
        }

    private:
        void put_whole(Batch batch) noexcept {
            ASAN_UNPOISON_MEMORY_REGION(batch.first, sizeof(Room));
            batch.first->next_batch = std::exchange(whole_, batch.first);
            ASAN_POISON_MEMORY_REGION(batch.first, sizeof(Room));
            ++count_;
        }

        Batch more() {
            blocks_ = ::new Block{blocks_, {}};
            Batch batch;
            for (Room& room : blocks_->rooms) {
                batch.push(&room);
            }
            return batch;
        }

        std::mutex mutex_;
        Place* whole_ = nullptr;   // the first batch of those that are full
        std::size_t count_ = 0;    // of them
        Batch rest_;               // what threads that ended left besides
        Block* blocks_ = nullptr;  // all there are: they are never given back
    };

    // Never destroyed, so that a thread may end at any time.
    static Shared& shared() noexcept {
        static Shared* const pool = new Shared;
        return *pool;
    }

    static void* take() {
        if (mine_.now.size == 0) {
            std::swap(mine_.now, mine_.full);
        }
        if (mine_.now.size == 0) {
            mine_.now = shared().get();
        }
        return mine_.now.pop();
    }

    static void give(void* memory) noexcept {
        if (mine_.now.size == batch_size) {
            if (mine_.full.size > 0) {
                shared().put(mine_.full);
            }
            mine_.full = std::exchange(mine_.now, {});
        }
        mine_.now.push(memory);
    }

    static inline thread_local Mine mine_;
};

}  // namespace web
