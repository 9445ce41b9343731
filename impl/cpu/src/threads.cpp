#include "diopi_core/threads.h"

#include <diopigen/environment.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "thread_pool.h"

namespace diopigen::core {

using namespace cpu;

namespace {

// Each thread of the host that asks for the pool has a pool of its own in libgomp. So many threads of the host may have
// one; the others work alone.
constexpr int kPools = 4;

thread_local bool is_inside = false;  // of a part, or of PoolForOthers
thread_local bool is_lent = false;    // of PoolForOthers that has the pool
std::mutex turn;                      // calls from several threads of the host queue here
std::atomic<bool> is_forked{false};
std::atomic<int> pool_owners{0};

int configured_count() {
    // After a fork the child has this thread only, and neither OpenMP nor std::thread can make up for the others.
    pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
    const int64_t own = diopigen::environment::number("DIOPI_NUM_THREADS", 0);
    const long openmp = std::atol(diopigen::environment::text("OMP_NUM_THREADS").c_str());
    const int64_t count = own > 0 ? own : std::min(openmp, 1024L);
    return static_cast<int>(count > 0 ? count : std::max<int64_t>(1, std::thread::hardware_concurrency()));
}

// A slot among the threads that have a pool, returned when the thread of the host ends.
struct PoolSlot {
    bool is_taken = false;

    bool take() {
        if (!is_taken) {
            int count = pool_owners.load();
            while (count < kPools && !is_taken) {
                is_taken = pool_owners.compare_exchange_weak(count, count + 1);
            }
        }
        return is_taken;
    }
    ~PoolSlot() {
        if (is_taken) {
            --pool_owners;
        }
    }
};

bool may_use_pool() {
    static thread_local PoolSlot slot;
    return !is_inside && thread_count() > 1 && !is_forked.load(std::memory_order_relaxed) &&
           !thread_pool::is_inside_foreign() && slot.take();
}

// Runs all parts, and throws the first exception of any again.
template <typename Part>
void run_parts(int count, const Part& part) {
    std::mutex mutex;
    std::exception_ptr failure;
    const auto attempt = [&](int index) {
        is_inside = true;
        try {
            part(index);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex);
            if (!failure) {
                failure = std::current_exception();
            }
        }
        is_inside = false;
    };
    {
        const std::lock_guard<std::mutex> lock(turn);
        thread_pool::run(count, attempt);
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

}  // namespace

int thread_count() {
    static const int count = configured_count();
    return count;
}

void detail::run_parallel(int64_t total, int64_t grain, RangeBody body) {
    grain = std::max<int64_t>(grain, 1);
    const int64_t step = grain % kParallelChunk == 0 ? kParallelChunk : 1;
    const int64_t steps = (total + step - 1) / step;
    const int64_t parts = std::min<int64_t>(thread_count(), total / grain);
    if (parts <= 1 || !may_use_pool()) {
        body(0, total);
        return;
    }
    run_parts(static_cast<int>(parts), [&](int part) {
        const int64_t size = steps / parts;
        const int64_t rest = steps % parts;
        const int64_t begin = size * part + std::min<int64_t>(part, rest);
        const int64_t end = begin + size + (part < rest ? 1 : 0);
        body(begin * step, std::min(end * step, total));
    });
}

PoolForOthers::PoolForOthers() : has_turn_(may_use_pool()), previous_(0) {
    if (has_turn_) {
        turn.lock();
        is_inside = true;
        previous_ = thread_pool::limit_others(thread_count());
    } else if (!is_lent) {
        previous_ = thread_pool::limit_others(1);
    }
    is_lent = is_lent || has_turn_;
}

PoolForOthers::~PoolForOthers() {
    if (previous_ > 0) {
        thread_pool::limit_others(previous_);
    }
    if (has_turn_) {
        is_lent = false;
        is_inside = false;
        turn.unlock();
    }
}

}  // namespace diopigen::core
