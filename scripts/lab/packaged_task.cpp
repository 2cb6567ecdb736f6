// Runs as many tasks as its argument says, one after another, in a process that has no other
// thread.

#include <cstdlib>
#include <future>

int main(int count, char** arguments) {
    int sum = 0;
    for (long left = count > 1 ? std::atol(arguments[1]) : 0; left > 0; --left) {
        std::packaged_task<int()> task([] { return 1; });
        auto result = task.get_future();
        task();
        sum += result.get();
    }
    return sum < 0;
}
