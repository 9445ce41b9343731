// The pool of threads by itself: prints what went wrong and returns 1, or prints "ok" and the most threads seen.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "diopi_core/threads.h"

using diopigen::core::parallel_for;

namespace {

void expect(bool holds, const char* what) {
    if (!holds) {
        std::printf("%s\n", what);
        std::fflush(stdout);
        std::_Exit(1);  // other threads are at work
    }
}

// Every element once, in parts of at least `grain` that start where they may.
void cover(int64_t total, int64_t grain) {
    std::vector<int> counts(static_cast<size_t>(total), 0);  // no atomics: parts must not share elements
    std::atomic<int> parts{0};
    parallel_for(total, grain, [&](int64_t begin, int64_t end) {
        ++parts;
        expect(begin < end, "an empty part");
        expect(grain % 1024 != 0 || begin % 1024 == 0, "a part starts between steps");
        for (int64_t i = begin; i < end; ++i) {
            ++counts[i];
        }
    });
    for (const int count : counts) {
        expect(count == 1, "an element was missed or met twice");
    }
    const int64_t most = std::max<int64_t>(1, std::min<int64_t>(diopigen::core::thread_count(), total / grain));
    expect(parts == (total == 0 ? 0 : most), "not as many parts as there should be");
}

void cover_all() {
    for (const int64_t total : {0, 1, 7, 1023, 1024, 1025, 5000, 40000}) {
        for (const int64_t grain : {1, 10, 1024, 2048}) {
            cover(total, grain);
        }
    }
}

void nest() {
    std::atomic<int64_t> sum{0};
    parallel_for(64, 1, [&](int64_t begin, int64_t end) {
        const std::thread::id outer = std::this_thread::get_id();
        parallel_for(1000 * (end - begin), 1, [&](int64_t first, int64_t last) {
            expect(std::this_thread::get_id() == outer, "a nested call left its thread");
            sum += last - first;
        });
    });
    expect(sum == 64000, "nested calls lost elements");
}

void raise() {
    for (int i = 0; i < 20; ++i) {
        std::string message;
        try {
            parallel_for(1000, 1, [](int64_t begin, int64_t end) {
                if (begin <= 700 && 700 < end) {
                    throw std::runtime_error("of a part");
                }
            });
        } catch (const std::runtime_error& error) {
            message = error.what();
        }
        expect(message == "of a part", "an exception was lost");
    }
    cover(5000, 1);
}

void queue_from_many_threads(int callers) {
    std::atomic<int> active{0};
    std::atomic<int> most{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < callers; ++i) {
        threads.emplace_back([&] {
            for (int k = 0; k < 20; ++k) {
                std::atomic<int64_t> sum{0};
                parallel_for(100000, 100, [&](int64_t begin, int64_t end) {
                    const int now = ++active;
                    int seen = most.load();
                    while (now > seen && !most.compare_exchange_weak(seen, now)) {
                    }
                    sum += end - begin;
                    --active;
                });
                expect(sum == 100000, "a concurrent call lost elements");
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    // One call has the pool; callers without a pool run alone at the same time.
    expect(most <= diopigen::core::thread_count() + callers, "more threads than one pool and the callers");
}

void fork_and_run() {
    const pid_t child = fork();
    if (child == 0) {
        std::atomic<int64_t> sum{0};
        parallel_for(100000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
        { const diopigen::core::PoolForOthers pool; }
        _exit(sum == 100000 ? 0 : 1);
    }
    int status = 0;
    expect(waitpid(child, &status, 0) == child && status == 0, "the child of a fork went wrong");
}

}  // namespace

int main() {
    std::set<std::thread::id> seen;
    std::mutex mutex;
    for (int i = 0; i < 20; ++i) {
        parallel_for(64, 1, [&](int64_t, int64_t) {
            const std::lock_guard<std::mutex> lock(mutex);
            seen.insert(std::this_thread::get_id());
        });
    }
    cover_all();
    nest();
    raise();
    {
        const diopigen::core::PoolForOthers pool;
        const diopigen::core::PoolForOthers inner;
        const std::thread::id outer = std::this_thread::get_id();
        parallel_for(64, 1, [&](int64_t, int64_t) {
            expect(std::this_thread::get_id() == outer, "a part ran in a pool that was given away");
        });
    }
    queue_from_many_threads(9);
    cover_all();
    if (std::getenv("POOL_TEST_FORK") != nullptr) {
        fork_and_run();
    }
    std::printf("ok %zu\n", seen.size());
    return 0;
}
