#pragma once  // TODO(lab-object-pool): keep the memory of destroyed objects

#include <cstddef>
#include <utility>

namespace web {

// Creates and destroys the objects of one type, for all threads.
template <class T>
class ObjectPool {
public:
    static constexpr std::size_t batch_size = 64;
    static constexpr std::size_t max_per_thread = 2 * batch_size;

    template <class... Arguments>
    static T* create(Arguments&&... arguments) {
        return new T(std::forward<Arguments>(arguments)...);
    }

    // May be called by any thread, also by one that created no object.
    static void destroy(T* object) noexcept { delete object; }

    // The number of free places that this thread has.
    static std::size_t free_local() noexcept { return 0; }

    // The number of free places that belong to no thread.
    static std::size_t free_shared() noexcept { return 0; }
};

}  // namespace web
