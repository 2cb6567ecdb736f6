#pragma once

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace web {

// Creates and destroys the objects of one type, for all threads, in memory that it keeps. Each
// thread has free places of its own and shares nothing until they run out. Places that it has in
// excess go to the shared list, a whole batch at a time. A thread that ends leaves all of its
// places there.
template <class T>
class ObjectPool {
public:
    static constexpr std::size_t batch_size = 64;
    static constexpr std::size_t max_per_thread = 2 * batch_size;

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

    // May be called by any thread, also by one that created no object.
    static void destroy(T* object) noexcept {
        object->~T();
        give(object);
    }

    // The number of free places that this thread has.
    static std::size_t free_local() noexcept { return local_.now.size + local_.full.size; }

    // The number of free places that belong to no thread.
    static std::size_t free_shared() noexcept { return shared().size(); }

private:
    // The contents of a place that holds no object.
    struct Place {
        Place* next;
        Place* next_batch;  // in the first place of a batch that belongs to no thread
    };

    struct alignas(std::max(alignof(T), alignof(Place))) Slot {
        std::byte bytes[std::max(sizeof(T), sizeof(Place))];
    };

    // Free places are poisoned for the address sanitizer, so that any use of them is reported.
    struct Batch {
        Place* first = nullptr;
        std::size_t size = 0;

        void push(void* memory) noexcept {
            first = ::new (memory) Place{first, nullptr};
            ++size;
            ASAN_POISON_MEMORY_REGION(memory, sizeof(Slot));
        }

        void* pop() noexcept {
            ASAN_UNPOISON_MEMORY_REGION(first, sizeof(Slot));
            --size;
            return std::exchange(first, first->next);
        }
    };

    // One batch that is being filled or emptied, and one that is full or empty. So a thread that
    // alternately creates and destroys an object at the border of a batch need not access the
    // shared list.
    struct ThreadCache {
        Batch now;
        Batch full;

        ~ThreadCache() {
            shared().put_partial(now);
            shared().put_partial(full);
        }
    };

    struct Block {
        Block* next;
        Slot slots[batch_size];
    };

    class Shared {
    public:
        Batch get() {
            const std::lock_guard lock(mutex_);
            if (Place* const first = batches_) {
                ASAN_UNPOISON_MEMORY_REGION(first, sizeof(Slot));
                batches_ = first->next_batch;
                ASAN_POISON_MEMORY_REGION(first, sizeof(Slot));
                --count_;
                return {first, batch_size};
            }
            return partial_.size > 0 ? std::exchange(partial_, {}) : more();
        }

        void put(Batch batch) noexcept {
            const std::lock_guard lock(mutex_);
            put_batch(batch);
        }

        void put_partial(Batch batch) noexcept {
            const std::lock_guard lock(mutex_);
            while (batch.size > 0) {
                partial_.push(batch.pop());
                if (partial_.size == batch_size) {
                    put_batch(std::exchange(partial_, {}));
                }
            }
        }

        std::size_t size() noexcept {
            const std::lock_guard lock(mutex_);
            return count_ * batch_size + partial_.size;
        }

    private:
        void put_batch(Batch batch) noexcept {
            ASAN_UNPOISON_MEMORY_REGION(batch.first, sizeof(Slot));
            batch.first->next_batch = std::exchange(batches_, batch.first);
            ASAN_POISON_MEMORY_REGION(batch.first, sizeof(Slot));
            ++count_;
        }

        Batch more() {
            blocks_ = ::new Block{blocks_, {}};
            Batch batch;
            for (Slot& slot : blocks_->slots) {
                batch.push(&slot);
            }
            return batch;
        }

        std::mutex mutex_;
        Place* batches_ = nullptr;  // the first of the full batches
        std::size_t count_ = 0;     // number of full batches
        Batch partial_;             // incomplete batches left by threads that ended
        Block* blocks_ = nullptr;   // all blocks, which are never freed
    };

    // Never destroyed, so that a thread may end at any time.
    static Shared& shared() noexcept {
        static Shared* const pool = new Shared;
        return *pool;
    }

    static void* take() {
        if (local_.now.size == 0) {
            std::swap(local_.now, local_.full);
        }
        if (local_.now.size == 0) {
            local_.now = shared().get();
        }
        return local_.now.pop();
    }

    static void give(void* memory) noexcept {
        if (local_.now.size == batch_size) {
            if (local_.full.size > 0) {
                shared().put(local_.full);
            }
            local_.full = std::exchange(local_.now, {});
        }
        local_.now.push(memory);
    }

    static inline thread_local ThreadCache local_;
};

}  // namespace web
